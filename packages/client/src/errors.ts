/**
 * - `bad_request`: the service refused what was asked (400), or it was refused before it was sent
 * - `not_found`: no such product, or nothing at this address (404)
 * - `unavailable`: the data cannot be reached at the moment (503), also after every further try
 * - `unexpected`: any other status, or an answer that is not the operation's
 * - `network`: there was no answer, also at the second try
 * - `timeout`: the call took longer than `timeoutMs`
 * - `aborted`: the caller's signal ended it; `cause` is the signal's reason
 */
export type ErrorCode = "bad_request" | "not_found" | "unavailable" | "unexpected" | "network" | "timeout" | "aborted";

export interface ErrorDetails {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** The one error that a call ends with. */
export class ProductDataError extends Error {
  override readonly name = "ProductDataError";
  readonly code: ErrorCode;
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  /** The request reference, `X-Request-Id`: quote it when you report the error. */
  readonly requestId: string | undefined;
  /** How long the service asks to wait before the next try. */
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
 * For those who would rather look at an error than catch it: `await toResult(client.product(id))`.
 * Only what is no {@link ProductDataError} is still thrown.
 */
export async function toResult<Value>(call: Promise<Value>): Promise<Result<Value>> {
  try {
    return { ok: true, value: await call };
  } catch (error) {
    if (error instanceof ProductDataError) return { ok: false, error };
    throw error;
  }
}
