import { type ErrorCode, ProductDataError } from "./errors.ts";
import type { Remembered } from "./memory.ts";
import { parseRetryAfter } from "./retry.ts";
import type { Fetch } from "./types.ts";

/** An answer of the service, whatever its status. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly tag: string | null;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
}

/**
 * Asks once. What is known is asked for by its entity tag, and is the answer again when the service says that it is still right.
 * @throws ProductDataError `network`, or the signal's reason
 */
export async function getAnswer(
  fetch: Fetch,
  url: string,
  signal: AbortSignal,
  known: Remembered | undefined,
): Promise<Answer> {
  try {
    const response = await fetch(url, { signal, headers: known ? { "If-None-Match": known.tag } : {} });
    const { status, headers } = response;
    const text = await response.text();
    return {
      status,
      text,
      tag: headers.get("ETag"),
      requestId: headers.get("X-Request-Id") ?? undefined,
      retryAfterMs: parseRetryAfter(headers.get("Retry-After"), Date.now()),
      ...(known && status === 304 && { status: 200, ...known }),
    };
  } catch (cause) {
    throw signal.aborted ? signal.reason : new ProductDataError("network", "The service gave no answer.", { cause });
  }
}

/** What bodies have: the operation's own fields, or why there are none (`detail` in a problem of RFC 9457). */
type Body = Readonly<Record<string, unknown>> | null;

const codes: Readonly<Record<number, ErrorCode>> = { 400: "bad_request", 404: "not_found", 503: "unavailable" };

/**
 * The body of a good answer.
 * @param field what it must have; a body that says instead why it has not, was not found, whatever the status
 * @throws ProductDataError of any other answer
 */
export function toBody(answer: Answer, field: string, parse: (text: string) => unknown): object {
  const { status, text } = answer;
  let body: Body | undefined;
  let cause: unknown;
  try {
    body = parse(text) as Body;
  } catch (error) {
    cause = error;
  }
  if (status === 200 && body?.[field]) return body;
  const why = [body?.error, body?.detail].find((reason) => typeof reason === "string");
  const code = codes[status === 200 && why ? 404 : status] ?? "unexpected";
  const message = why ?? `The service answered ${status}${status === 200 ? ", but not what was asked for" : ""}.`;
  throw new ProductDataError(code, message, { ...answer, cause });
}
