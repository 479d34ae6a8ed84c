/** How fast a provider accepts purges: a token bucket. */
export interface PurgeBudget {
  /** Whether each request takes a token, or each tag. */
  readonly unit: "request" | "tag";
  /** Tokens in a full bucket. */
  readonly burst: number;
  /** Tokens that are restored per second. */
  readonly perSecond: number;
}

export interface PurgeRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A cache to purge: a provider's, or one server. Each is purged independently of the others. */
export interface PurgeTarget {
  /** Identifies it in the store and in messages; without credentials. */
  readonly name: string;
  /** Tags in one request. */
  readonly maxTags: number;
  /** Bytes of the tags of one request, with a separator after each. */
  readonly maxBytes: number;
  /** Undefined if it accepts any number of purges. */
  readonly budget: PurgeBudget | undefined;
  readonly toRequest: (tags: readonly string[]) => PurgeRequest;
  /** The problem that a response with status 2xx reports; undefined if there is none. */
  readonly findProblem?: (body: string) => string | undefined;
}
