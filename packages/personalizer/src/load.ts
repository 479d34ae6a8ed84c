import { type FormStyle, toForm } from "../../client/src/form.ts";
import { isPersonalization } from "./answer.ts";

const timeoutMs = 8000;

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
  signal.addEventListener("abort", abort);
  try {
    return await ask(`${endpoint.replace(/\/+$/, "")}/products/pz/${encodeURIComponent(sku)}`, sku, controller.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LoadError) throw error;
    throw new LoadError(controller.signal.aborted ? "timeout" : "network");
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

async function ask(url: string, sku: string, signal: AbortSignal): Promise<Loaded> {
  const response = await fetch(url, { signal, credentials: "omit" });
  if (!response.ok) throw new LoadError("status", response.status);
  const text = await response.text();
  const answer = parseJson(text);
  if (!isPersonalization(answer)) throw new LoadError("answer", response.status);
  const tag = response.headers.get("etag")?.replace(/^W\/|"/g, "");
  return { form: toForm(answer), mark: tag || digest(`${sku}\n${text}`) };
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
