const maxRetries = 3;
const firstBackoffMs = 500;

export type FailureReason = "network" | "timeout" | "status" | "answer" | "sku";

/** The service did not return usable options. */
export class LoadError extends Error {
  readonly reason: FailureReason;
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;

  constructor(reason: FailureReason, status?: number, detail = `${reason} ${status ?? ""}`.trim()) {
    super(`The personalization options could not be loaded: ${detail}`);
    this.reason = reason;
    this.status = status;
  }
}

/** The options that a page needs. */
export interface Wanted {
  /** Base URL of the API. */
  readonly endpoint: string;
  readonly locale: string;
  readonly sku: string;
}

/**
 * @param deadline when the last attempt must have begun, as `performance.now()` counts
 * @throws LoadError without a response that has options
 */
export async function requestOptions({ endpoint, locale, sku }: Wanted, signal: AbortSignal, deadline: number) {
  const base = `${endpoint.replace(/\/+$/, "")}/products`;
  // Browsers remove such a segment, also if it is escaped.
  if (/^\.\.?$/.test(sku)) throw new LoadError("sku", undefined, `"${sku}" cannot be used in a URL path.`);
  // A URL cannot contain lone surrogates. The SKU is unknown then.
  const segment = encodeURIComponent(sku.replace(/\p{Cs}/gu, "\ufffd"));
  let response = await fetchWithRetries(`${base}/form/${locale}/${segment}`, signal, deadline);
  // A service from before there were forms has only the personalization.
  if (response.status === 404) response = await fetchWithRetries(`${base}/pz/${segment}`, signal, deadline);
  if (!response.ok) throw new LoadError("status", response.status);
  const tag = response.headers.get("etag")?.replace(/^W\/|"/g, "");
  return { text: await response.text(), tag, status: response.status };
}

/** Retries while the service is busy and the next attempt is due before the deadline. */
async function fetchWithRetries(url: string, signal: AbortSignal, deadline: number): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(url, { signal, credentials: "omit" });
    if (!/^(429|50[234])$/.test(`${response.status}`) || attempt === maxRetries) return response;
    const waitMs = retryDelayMs(attempt, response.headers.get("retry-after"), Date.now(), Math.random());
    if (performance.now() + waitMs > deadline) return response;
    await pause(waitMs, signal);
  }
}

/**
 * Exponential backoff with jitter, added to the time that the service requests.
 * @param retryAfter value of the header: seconds or a date
 * @param random from 0 to 1
 */
export function retryDelayMs(attempt: number, retryAfter: string | null, nowMs: number, random: number): number {
  const value = retryAfter ?? "";
  const requestedMs = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Math.max(requestedMs || 0, 0) + firstBackoffMs * 2 ** attempt * (1 - random / 2);
}

const pause = (ms: number, signal: AbortSignal) =>
  Promise.race([new Promise((resolve) => setTimeout(resolve, ms)), untilAborted(signal)]);

/** Rejects when the signal is aborted. */
export const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
