import { ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Failure } from "./errors.ts";
import { clientRequestIdOf, pathOf } from "./request.ts";

/** Lines a second, at most: whoever sends nonsense must not fill the disk, nor make everybody wait for it. */
const linesPerSecond = 100;
const longestPath = 500;

/** `version-traceid-parentid-flags`, as the W3C's Trace Context has it. */
const traceParent = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:$|(?<!^00.*)-)/;

/** Writes failed requests into the log, as many as are of use. */
export class FailureLog {
  readonly #log: Log;
  #lines = 0;
  #leftOut = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  failed(failure: Failure, error: unknown, request: Request, requestId: string): void {
    if (!this.#mayWrite()) return;
    const { status, detail } = failure;
    const path = pathOf(request).slice(0, longestPath);
    const clientRequestId = clientRequestIdOf(request.headers);
    const reference = { requestId, ...(clientRequestId !== undefined && { clientRequestId }) };
    const about = { ...reference, ...traceOf(request), method: request.method, path, status };
    if (status < 500) this.#log.info(about, detail);
    else if (error instanceof ServiceError) {
      this.#log.warn({ ...about, cause: (error.cause as Error)?.message }, detail);
    } else this.#log.error({ ...about, err: error }, detail);
  }

  #mayWrite(): boolean {
    if (this.#lines === 0) setTimeout(() => this.#endSecond(), 1000).unref();
    if (++this.#lines <= linesPerSecond) return true;
    this.#leftOut++;
    return false;
  }

  #endSecond(): void {
    if (this.#leftOut > 0) this.#log.warn({ leftOut: this.#leftOut }, "more requests failed than were written here");
    this.#lines = 0;
    this.#leftOut = 0;
  }
}

/** The caller's trace, so that its lines and these can be put together. */
function traceOf(request: Request): { traceId?: string; parentId?: string } {
  const [, traceId, parentId] = request.headers.get("traceparent")?.match(traceParent) ?? [];
  return traceId === undefined || parentId === undefined ? {} : { traceId, parentId };
}
