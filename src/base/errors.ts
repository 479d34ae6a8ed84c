/** Public error codes; `http/errors.ts` maps each to a status. */
export type ErrorCode =
  | "invalid_setting"
  | "invalid_input"
  | "invalid_id"
  | "bad_request"
  | "invalid_host"
  | "not_found"
  | "unauthorized"
  | "bad_signature"
  | "forbidden"
  | "misdirected"
  | "method_not_allowed"
  | "conflict"
  | "precondition_failed"
  | "too_large"
  | "too_many_requests"
  | "unavailable";

/** An expected failure, whose message is shown to users. All other errors are internal. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  /** Seconds until a retry may succeed, if known. */
  readonly retryAfterS: number | undefined;
  /** Seconds since this was last known to be true, if it cannot be verified now. */
  readonly ageS: number | undefined;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { retryAfterS?: number; ageS?: number }) {
    super(message, options);
    this.code = code;
    this.retryAfterS = options?.retryAfterS;
    this.ageS = options?.ageS;
  }
}
