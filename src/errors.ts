/** What went wrong, as far as anyone outside needs to know; `http/errors.ts` gives each its status. */
export type ErrorCode =
  | "invalid_setting"
  | "invalid_input"
  | "invalid_id"
  | "bad_request"
  | "not_found"
  | "unauthorized"
  | "misdirected"
  | "method_not_allowed"
  | "too_many_requests"
  | "unavailable";

/** An expected failure: its message is written for the person who caused it. Everything else is internal, and never shown. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  /** Seconds after which it may be tried again, where that is known. */
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { retryAfterS?: number }) {
    super(message, options);
    this.code = code;
    this.retryAfterS = options?.retryAfterS;
  }
}
