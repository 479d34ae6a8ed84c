/** A token bucket. */
export interface PurgeBudget {
  readonly unit: "request" | "tag";
  readonly burst: number;
  readonly perSecond: number;
}

export interface PurgeRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A provider's cache, or a single server. Each is purged independently. */
export interface PurgeTarget {
  /** Without credentials; identifies the cache in the store and in messages. */
  readonly name: string;
  readonly maxTags: number;
  /** Total size of a request's tags, including a separator after each. */
  readonly maxBytes: number;
  /** Undefined for no limit. */
  readonly budget: PurgeBudget | undefined;
  readonly toRequest: (tags: readonly string[]) => PurgeRequest;
  /** Finds a problem that a response with status 2xx reports. */
  readonly findProblem?: (body: string) => string | undefined;
}
