import { readStart } from "../base/body.ts";
import { ServiceError } from "../base/errors.ts";
import { createFetch } from "../base/outgoing.ts";
import { parseRetryAfter } from "../base/retry-after.ts";
import type { PurgeRequest, PurgeTarget } from "./targets.ts";

const timeoutMs = 5000;
/** Longer than any error message; a wrong address may serve something huge. */
const maxBodyBytes = 65_536;

export class PurgeError extends Error {
  readonly isThrottled: boolean;
  readonly retryAfterS: number | undefined;

  constructor(
    message: string,
    { isThrottled = false, retryAfterS }: { isThrottled?: boolean; retryAfterS?: number | undefined } = {},
  ) {
    super(message);
    this.isThrottled = isThrottled;
    this.retryAfterS = retryAfterS;
  }
}

/** @throws PurgeError if the request does not succeed */
export async function sendPurge(
  target: PurgeTarget,
  { url, ...request }: PurgeRequest,
  signal: AbortSignal,
  fetch = createFetch(),
): Promise<void> {
  let response: Response;
  let body: string;
  try {
    // A redirect could send the token anywhere.
    response = await fetch(url, {
      ...request,
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    body = `${await readStart(response, maxBodyBytes)}`;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ServiceError) throw new PurgeError(error.message);
    const { name, code } = error as Error & { code?: string };
    throw new PurgeError(name === "TimeoutError" ? "it did not respond in time" : `it cannot be reached (${code})`);
  }
  const { ok, status, headers } = response;
  if (!ok) {
    throw new PurgeError(`it responded with status ${status}${hints[status] ?? ""}`, {
      isThrottled: status === 429,
      retryAfterS: parseRetryAfter(headers),
    });
  }
  const problem = readProblem(target, body);
  if (problem !== undefined) throw new PurgeError(`it responded with status ${status}: ${problem.slice(0, 200)}`);
}

function readProblem({ findProblem }: PurgeTarget, body: string): string | undefined {
  try {
    return findProblem?.(body);
  } catch {
    return "the response cannot be read";
  }
}

const hints: Partial<Record<number, string>> = {
  401: ": PURGE_TOKEN was rejected",
  403: ": PURGE_TOKEN lacks the permission to purge",
  404: ": check the table [purge]",
  405: ": it accepts no purges from this address",
};
