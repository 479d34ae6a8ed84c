import { ServiceError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { isDamage } from "../database/index.ts";
import type { Failure } from "./errors.ts";
import { clientRequestIdOf, pathOf } from "./request.ts";

/** Invalid requests must not fill the disk or slow down others. */
const maxLinesPerSecond = 100;
const maxPathLength = 500;

/** `version-traceid-parentid-flags` as in W3C Trace Context. */
const traceParent = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:$|(?<!^00.*)-)/;

export class FailureLog {
  readonly #log: Log;
  /** The first error of a request that found the store damaged; undefined if none did. */
  damage: unknown;
  #lines = 0;
  #skipped = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  write(failure: Failure, error: unknown, request: Request, requestId: string): void {
    const reason = error instanceof ServiceError ? error.cause : error;
    if (isDamage(reason)) this.damage ??= reason;
    if (!this.#mayWrite()) return;
    const { status, detail } = failure;
    const path = pathOf(request).slice(0, maxPathLength);
    const clientRequestId = clientRequestIdOf(request.headers);
    const reference = { requestId, ...(clientRequestId !== undefined && { clientRequestId }) };
    const fields = { ...reference, ...traceOf(request), method: request.method, path, status };
    if (status < 500) this.#log.info(fields, detail);
    else if (error instanceof ServiceError) {
      this.#log.warn({ ...fields, cause: (error.cause as Error)?.message }, detail);
    } else this.#log.error({ ...fields, err: error }, detail);
  }

  #mayWrite(): boolean {
    if (this.#lines === 0) setTimeout(() => this.#endSecond(), 1000).unref();
    if (++this.#lines <= maxLinesPerSecond) return true;
    this.#skipped++;
    return false;
  }

  #endSecond(): void {
    if (this.#skipped > 0) this.#log.warn({ skipped: this.#skipped }, "some failed requests were not logged");
    this.#lines = 0;
    this.#skipped = 0;
  }
}

/** The client's trace context, which correlates its log lines with ours. */
function traceOf(request: Request): { traceId?: string; parentId?: string } {
  const [, traceId, parentId] = request.headers.get("traceparent")?.match(traceParent) ?? [];
  return traceId === undefined || parentId === undefined ? {} : { traceId, parentId };
}
