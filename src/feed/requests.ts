import { ServiceError } from "../base/errors.ts";
import type { Fetch } from "../base/outgoing.ts";
import { backoff, pause } from "../base/time.ts";

const maxAttempts = 4;
/** Doubles after each attempt. */
const firstPauseMs = 500;
/** Maximum time without data. */
const defaultStallMs = 30_000;

export const isTemporary = (status: number) => status >= 500 || status === 429;

/** Whether a response has a whole file, which may be empty. */
export const isWhole = (status: number) => status === 200 || status === 204;

export class Requests {
  readonly #fetch: Fetch;
  readonly #signal: AbortSignal;
  readonly #stallMs: number;

  constructor(fetch: Fetch, signal: AbortSignal, stallMs = defaultStallMs) {
    this.#fetch = fetch;
    this.#signal = signal;
    this.#stallMs = stallMs;
  }

  /**
   * Passes the response to `use`, with its body as stored, not decompressed.
   * @throws Error when no data arrives for too long; any error of `use`
   */
  async send<T>(url: string, init: Parameters<Fetch>[1], use: (response: Response) => T | Promise<T>): Promise<T> {
    const stall = new AbortController();
    const timer = setTimeout(() => stall.abort(new Error(`no data for ${this.#stallMs / 1000} s`)), this.#stallMs);
    let response: Response | undefined;
    try {
      const signal = AbortSignal.any([this.#signal, stall.signal]);
      response = await this.#fetch(url, { ...init, signal, decompress: false });
      timer.refresh();
      return await use(withTimer(response, timer));
    } catch (cause) {
      throw stall.signal.aborted ? stall.signal.reason : cause;
    } finally {
      clearTimeout(timer);
      if (response?.bodyUsed === false) await response.body?.cancel();
    }
  }

  /**
   * Repeats an attempt after any error but a ServiceError.
   * @param name the source, for messages
   * @throws ServiceError `unavailable` with the last reason
   */
  async retry<T>(name: string, attempt: () => Promise<T>): Promise<T> {
    for (let count = 1; ; count++) {
      try {
        return await attempt();
      } catch (cause) {
        this.#signal.throwIfAborted();
        if (cause instanceof ServiceError) throw cause;
        if (count === maxAttempts) throw new ServiceError("unavailable", `${name}: ${reasonOf(cause)}`, { cause });
        await pause(backoff(count, firstPauseMs), this.#signal);
        this.#signal.throwIfAborted();
      }
    }
  }
}

function reasonOf(cause: unknown): string {
  const { code = "", message } = cause as Error & { code?: string };
  return message.includes(code) ? message : `${code}: ${message}`;
}

/** Empty if the response has no body, as with status 204. */
export const bodyOf = ({ body }: Response): ReadableStream<Uint8Array> => body ?? new Blob().stream();

function withTimer(response: Response, timer: NodeJS.Timeout): Response {
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        timer.refresh();
        controller.enqueue(chunk);
      },
    }),
  );
  return new Response(body ?? null, response);
}

/** In milliseconds, by the source's clock. */
export function changedAtOf({ headers }: Response): number | undefined {
  const at = Date.parse(headers.get("Last-Modified") ?? "");
  return Number.isNaN(at) ? undefined : at;
}
