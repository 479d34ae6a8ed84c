/**
 * - `bad_request`: the service rejected the request (400), or the client did before sending it
 * - `not_found`: no such product, or no such URL (404)
 * - `unavailable`: the service or a proxy in front of it is temporarily unavailable (429, 502, 503,
 *   504), after all retries
 * - `unexpected`: any other status, or unexpected content
 * - `network`: no response, after one retry
 * - `timeout`: the call took longer than `timeoutMs`
 * - `aborted`: the caller's signal aborted the call; `cause` is the signal's reason
 */
export type ErrorCode = "bad_request" | "not_found" | "unavailable" | "unexpected" | "network" | "timeout" | "aborted";

export interface ErrorDetails {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** The only error that a call rejects with. */
export class ProductDataError extends Error {
  override readonly name = "ProductDataError";
  readonly code: ErrorCode;
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** The request reference, `X-Request-Id`. Include it when you report the error. */
  readonly requestId: string | undefined;
  /** The delay that the service requested before the next attempt. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, { status, requestId, retryAfterMs, cause }: ErrorDetails = {}) {
    super(message, { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

export type Result<Value> =
  | { readonly ok: true; readonly value: Value; readonly error?: never }
  | { readonly ok: false; readonly error: ProductDataError; readonly value?: never };

/**
 * Returns a call's error as a value instead of throwing it: `await toResult(client.product(id))`.
 * Still throws errors other than {@link ProductDataError}.
 */
export async function toResult<Value>(call: Promise<Value>): Promise<Result<Value>> {
  try {
    return { ok: true, value: await call };
  } catch (error) {
    if (error instanceof ProductDataError) return { ok: false, error };
    throw error;
  }
}
