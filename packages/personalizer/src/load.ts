import { type FormStyle, toForm } from "../../client/src/form.ts";
import { isPersonalization } from "./response.ts";

/** Includes all attempts and the pauses between them. */
const timeoutMs = 8000;

const maxRetries = 3;
const firstBackoffMs = 500;

export type FailureReason = "network" | "timeout" | "status" | "answer";

/** The service did not return usable options. */
export class LoadError extends Error {
  readonly reason: FailureReason;
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;

  constructor(reason: FailureReason, status?: number) {
    super(`The personalization options could not be loaded: ${reason}${status === undefined ? "" : ` ${status}`}`);
    this.reason = reason;
    this.status = status;
  }
}

export interface LoadedOptions {
  readonly styles: readonly FormStyle[];
  /** Identifies the response: its entity tag, or a checksum if the page cannot read that. */
  readonly tag: string;
}

/**
 * Loads the options of a SKU.
 * @throws LoadError, or the signal's reason if it is aborted
 */
export async function loadOptions(endpoint: string, sku: string, signal: AbortSignal): Promise<LoadedOptions> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal.addEventListener("abort", abort);
  try {
    return await request(toUrl(endpoint, sku), sku, controller.signal, performance.now() + timeoutMs);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LoadError) throw error;
    throw new LoadError(controller.signal.aborted ? "timeout" : "network");
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** Replaces lone surrogates, which a URL cannot contain. The SKU is unknown then. */
const toUrl = (endpoint: string, sku: string) =>
  `${endpoint.replace(/\/+$/, "")}/products/pz/${encodeURIComponent(sku.replace(/\p{Cs}/gu, "\ufffd"))}`;

async function request(url: string, sku: string, signal: AbortSignal, deadline: number): Promise<LoadedOptions> {
  const response = await fetchWithRetries(url, signal, deadline);
  if (!response.ok) throw new LoadError("status", response.status);
  const text = await response.text();
  const body = parseJson(text);
  if (!isPersonalization(body)) throw new LoadError("answer", response.status);
  const tag = response.headers.get("etag")?.replace(/^W\/|"/g, "");
  return { styles: toForm(body), tag: tag || checksum(`${sku}\n${text}`) };
}

/** Retries while the service is busy (503) and the next attempt is due before the deadline. */
async function fetchWithRetries(url: string, signal: AbortSignal, deadline: number): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(url, { signal, credentials: "omit" });
    if (response.status !== 503 || attempt === maxRetries) return response;
    const waitMs = retryDelayMs(attempt, response.headers.get("retry-after"), Date.now(), Math.random());
    if (performance.now() + waitMs > deadline) return response;
    await pause(waitMs, signal);
  }
}

/**
 * Exponential backoff with jitter, added to the time that the service requests.
 * @param retryAfter value of the header: seconds or a date
 * @param random from 0 to 1
 */
export function retryDelayMs(attempt: number, retryAfter: string | null, nowMs: number, random: number): number {
  const value = retryAfter ?? "";
  const requestedMs = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Math.max(requestedMs || 0, 0) + firstBackoffMs * 2 ** attempt * (1 - random / 2);
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

/** FNV-1a with two offsets. Pages without TLS lack `crypto.subtle`, and nothing here is secret. */
function checksum(text: string): string {
  return [0x811c9dc5, 0x01000193]
    .map((offset) => {
      let hash = offset;
      for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
      return (hash >>> 0).toString(16).padStart(8, "0");
    })
    .join("");
}
