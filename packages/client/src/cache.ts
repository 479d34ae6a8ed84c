export interface CachedResponse {
  readonly entityTag: string;
  readonly text: string;
}

export interface ResponseCache {
  find(path: string): CachedResponse | undefined;
  save(path: string, response: CachedResponse): void;
}

/**
 * A cache that evicts the responses saved least recently. The client saves a response again after
 * each revalidation.
 */
export function createResponseCache(size: number): ResponseCache {
  // A map iterates in insertion order, so the first key is the oldest.
  const responses = new Map<string, CachedResponse>();
  return {
    find: (path) => responses.get(path),
    save(path, response) {
      responses.delete(path);
      responses.set(path, response);
      for (const oldest of responses.keys()) {
        if (responses.size <= size) return;
        responses.delete(oldest);
      }
    },
  };
}
