import { startServer } from "./server.ts";

/** A purge as a provider received it. */
export interface ReceivedPurge {
  readonly tags: readonly string[];
  readonly atMs: number;
}

/** The documented limits of a provider. */
interface Limits {
  readonly tagsPerRequest: number;
  readonly tagLength: number;
  /** Of a header line, in bytes. */
  readonly headerLength: number;
  /** A token bucket of requests or of tags. */
  readonly bucket?: { readonly unit: "request" | "tag"; readonly size: number; readonly perSecond: number };
}

type Provider = "fastly" | "cloudflare" | "varnish" | "generic";

const limitsOf: Readonly<Record<Provider, Limits>> = {
  // 100,000 purges an hour on average.
  fastly: {
    tagsPerRequest: 256,
    tagLength: 1024,
    headerLength: 16_384,
    bucket: { unit: "tag", size: 100_000, perSecond: 100_000 / 3600 },
  },
  cloudflare: {
    tagsPerRequest: 100,
    tagLength: 1024,
    headerLength: 16_384,
    bucket: { unit: "request", size: 25, perSecond: 5 / 60 },
  },
  varnish: { tagsPerRequest: Number.POSITIVE_INFINITY, tagLength: 8192, headerLength: 8192 },
  generic: { tagsPerRequest: 100, tagLength: 1024, headerLength: 8192 },
};

export const zone = "0123456789abcdef0123456789abcdef";
export const purgeToken = "purge-token";

/** Stands in for a provider's interface, enforces its limits, and counts what exceeds them. */
export function startPurgeProvider(provider: Provider, changes: Partial<Limits> = {}) {
  const limits = { ...limitsOf[provider], ...changes };
  const purges: ReceivedPurge[] = [];
  const violations: string[] = [];
  const state = {
    /** Responds to the next purges instead of accepting them. */
    refusals: [] as Response[],
    isDown: false,
  };
  let tokens = limits.bucket?.size ?? Number.POSITIVE_INFINITY;
  let refilledMs = performance.now();

  const takeTokens = (count: number): boolean => {
    if (limits.bucket === undefined) return true;
    const nowMs = performance.now();
    tokens = Math.min(limits.bucket.size, tokens + ((nowMs - refilledMs) / 1000) * limits.bucket.perSecond);
    refilledMs = nowMs;
    const cost = limits.bucket.unit === "tag" ? count : 1;
    if (tokens < cost) return false;
    tokens -= cost;
    return true;
  };
  const read = async (request: Request): Promise<{ tags: string[] } | Response> => {
    const { pathname } = new URL(request.url);
    const expected = (isRight: boolean, problem: string) => {
      if (!isRight) violations.push(`${request.method} ${pathname}: ${problem}`);
    };
    for (const [name, value] of request.headers) {
      expected(name.length + 2 + value.length <= limits.headerLength, `the header ${name} has ${value.length} bytes`);
    }
    if (provider === "varnish") {
      expected(request.method === "PURGE", "not a purge");
      return { tags: (request.headers.get("xkey-purge") ?? "").split(" ") };
    }
    expected(request.method === "POST", "not a purge");
    if (provider === "fastly") {
      if (request.headers.get("fastly-key") !== purgeToken) return new Response("{}", { status: 401 });
      expected(pathname === "/service/SERVICE/purge", "an unknown path");
      const { surrogate_keys: tags } = (await request.json()) as { surrogate_keys: string[] };
      return { tags };
    }
    if (request.headers.get("authorization") !== `Bearer ${purgeToken}`) return new Response("{}", { status: 403 });
    if (provider === "cloudflare") expected(pathname === `/client/v4/zones/${zone}/purge_cache`, "an unknown path");
    return { tags: ((await request.json()) as { tags: string[] }).tags };
  };

  const url = startServer(async (request) => {
    if (state.isDown) return new Response(null, { status: 503 });
    const received = await read(request);
    if (received instanceof Response) return received;
    const { tags } = received;
    if (tags.length === 0 || tags.length > limits.tagsPerRequest) violations.push(`${tags.length} tags`);
    for (const tag of tags) if (tag.length > limits.tagLength) violations.push(`a tag of ${tag.length} bytes`);
    if (!takeTokens(tags.length)) {
      violations.push("more than the budget");
      return new Response("{}", { status: 429, headers: { "Retry-After": "1" } });
    }
    const refusal = state.refusals.shift();
    if (refusal !== undefined) return refusal;
    purges.push({ ...received, atMs: performance.now() });
    if (provider === "varnish") return new Response(`${tags.length} purged\n`);
    return Response.json({ success: true, errors: [], status: "ok" });
  });
  return {
    url,
    purges,
    violations,
    state,
    /** How often a tag was purged. */
    countOf: (tag: string) => purges.filter(({ tags }) => tags.includes(tag)).length,
  };
}
