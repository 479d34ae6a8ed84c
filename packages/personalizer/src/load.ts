import { type FormStyle, toForm } from "../../client/src/form.ts";
import { isPersonalization } from "./answer.ts";

/** For everything: the requests and the pauses between them. */
const timeoutMs = 8000;

const retries = 3;
const firstBackoffMs = 500;

export type FailureReason = "network" | "timeout" | "status" | "answer";

/** Why there are no options. */
export class LoadError extends Error {
  readonly reason: FailureReason;
  /** Of the answer, when there was one. */
  readonly status: number | undefined;

  constructor(reason: FailureReason, status?: number) {
    super(`The personalization options could not be loaded: ${reason}${status === undefined ? "" : ` ${status}`}`);
    this.reason = reason;
    this.status = status;
  }
}

export interface Loaded {
  readonly form: readonly FormStyle[];
  /** Tells the answers of a SKU apart: its entity tag, or what is computed from it. */
  readonly mark: string;
}

/**
 * Asks the service what a SKU offers.
 * @throws LoadError, or the signal's reason once that is aborted
 */
export async function loadForm(endpoint: string, sku: string, signal: AbortSignal): Promise<Loaded> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, timeoutMs);
  const url = `${endpoint.replace(/\/+$/, "")}/products/pz/${encodeURIComponent(sku)}`;
  signal.addEventListener("abort", abort);
  try {
    return await ask(url, sku, controller.signal, performance.now() + timeoutMs);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LoadError) throw error;
    throw new LoadError(controller.signal.aborted ? "timeout" : "network");
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

async function ask(url: string, sku: string, signal: AbortSignal, deadline: number): Promise<Loaded> {
  const response = await fetchWithRetries(url, signal, deadline);
  if (!response.ok) throw new LoadError("status", response.status);
  const text = await response.text();
  const answer = parseJson(text);
  if (!isPersonalization(answer)) throw new LoadError("answer", response.status);
  const tag = response.headers.get("etag")?.replace(/^W\/|"/g, "");
  return { form: toForm(answer), mark: tag || digest(`${sku}\n${text}`) };
}

/** A busy service (503) is asked again, as long as there is time for it. */
async function fetchWithRetries(url: string, signal: AbortSignal, deadline: number): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(url, { signal, credentials: "omit" });
    if (response.status !== 503 || attempt === retries) return response;
    const waitMs = retryDelayMs(attempt, response.headers.get("retry-after"), Date.now(), Math.random());
    if (performance.now() + waitMs > deadline) return response;
    await pause(waitMs, signal);
  }
}

/**
 * Exponential backoff with jitter, on top of the time the service asked for.
 * @param retryAfter seconds or a date, as the header has them
 * @param chance from 0 to 1
 */
export function retryDelayMs(attempt: number, retryAfter: string | null, nowMs: number, chance: number): number {
  const stated = retryAfter ?? "";
  const statedMs = /^\s*\d+\s*$/.test(stated) ? Number(stated) * 1000 : Date.parse(stated) - nowMs;
  return Math.max(statedMs || 0, 0) + firstBackoffMs * 2 ** attempt * (1 - chance / 2);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** FNV-1a, twice with different beginnings: `crypto.subtle` is not there on pages without TLS, and nothing depends on secrecy. */
function digest(text: string): string {
  return [0x811c9dc5, 0x01000193]
    .map((start) => {
      let hash = start;
      for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
      return (hash >>> 0).toString(16).padStart(8, "0");
    })
    .join("");
}
