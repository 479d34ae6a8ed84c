import { toForm } from "../../client/src/form.ts";
import { parseJson } from "./json.ts";
import type { Labels } from "./labels.ts";
import { isForm, isPersonalization } from "./response.ts";
import type { OptionStyle } from "./styles.ts";

/** Includes all attempts and the pauses between them. */
const timeoutMs = 8000;

const maxRetries = 3;
const firstBackoffMs = 500;

/** A language's texts are worth less than the options: without them, texts are in English. */
const labelsTimeoutMs = 3000;

/** Languages of the element's own texts, besides English. */
const languages = /^(de|es|fr|ja)\b/;

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

/** The options that a page needs. */
export interface Wanted {
  /** Base URL of the API. */
  readonly endpoint: string;
  readonly locale: string;
  readonly sku: string;
}

export interface LoadedOptions {
  readonly styles: readonly OptionStyle[];
  /** Identifies the response: its entity tag, or a checksum if the page cannot read that. */
  readonly tag: string;
}

/**
 * Loads the options of a SKU.
 * @param controller stops the request, and is aborted when the time is up
 * @throws LoadError
 */
export async function loadOptions(wanted: Wanted, controller: AbortController): Promise<LoadedOptions> {
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    return await request(wanted, controller.signal, performance.now() + timeoutMs);
  } catch (error) {
    if (error instanceof LoadError) throw error;
    throw new LoadError(controller.signal.aborted ? "timeout" : "network");
  } finally {
    clearTimeout(timer);
  }
}

/** Loads the element's own texts in a language; none for English and if they cannot be loaded. */
export async function loadLabels({ endpoint, locale }: Wanted): Promise<Partial<Labels>> {
  const [, language] = languages.exec(locale) ?? [];
  if (language === undefined) return {};
  const url = `${endpoint.replace(/\/+$/, "")}/../../personalization-options/${language}.json`;
  try {
    const response = await fetch(url, { credentials: "omit", signal: AbortSignal.timeout(labelsTimeoutMs) });
    return response.ok ? ((await response.json()) ?? {}) : {};
  } catch {
    return {};
  }
}

async function request(wanted: Wanted, signal: AbortSignal, deadline: number): Promise<LoadedOptions> {
  const { endpoint, locale, sku } = wanted;
  const base = `${endpoint.replace(/\/+$/, "")}/products`;
  // A URL cannot contain lone surrogates. The SKU is unknown then.
  const segment = encodeURIComponent(sku.replace(/\p{Cs}/gu, "\ufffd"));
  let response = await fetchWithRetries(`${base}/form/${locale}/${segment}`, signal, deadline);
  // Services from before there were forms.
  if (response.status === 404) response = await fetchWithRetries(`${base}/pz/${segment}`, signal, deadline);
  if (!response.ok) throw new LoadError("status", response.status);
  const text = await response.text();
  const body = parseJson(text);
  const styles = isForm(body) ? body.styles : isPersonalization(body) ? toForm(body) : undefined;
  if (styles === undefined) throw new LoadError("answer", response.status);
  const tag = response.headers.get("etag")?.replace(/^W\/|"/g, "");
  return { styles, tag: tag || checksum(`${sku}\n${text}`) };
}

/** Retries while the service is busy and the next attempt is due before the deadline. */
async function fetchWithRetries(url: string, signal: AbortSignal, deadline: number): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(url, { signal, credentials: "omit" });
    if (!/^(429|50[234])$/.test(`${response.status}`) || attempt === maxRetries) return response;
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
