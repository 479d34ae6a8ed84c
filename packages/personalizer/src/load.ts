import type { OptionStyle } from "./form/styles.ts";
import { type FormScript, importForm, renewImport } from "./import-form.ts";
import { parseJson } from "./json.ts";
import type { Labels } from "./labels.ts";
import { LoadError, requestOptions, untilAborted, type Wanted } from "./request.ts";

/** Includes all attempts and the pauses between them. */
const timeoutMs = 8000;

/** A language's texts are worth less than the options: without them, texts are in English. */
const labelsTimeoutMs = 3000;

/** Languages of the element's own texts, besides English. */
const languages = /^(de|es|fr|ja)\b/;

export interface LoadedOptions {
  readonly styles: readonly OptionStyle[];
  /** Identifies the response: its entity tag, or a checksum if the page cannot read that. */
  readonly tag: string;
  /** Undefined without options. */
  readonly form: FormScript | undefined;
}

/**
 * Loads the options of a SKU, and the script for their form.
 * @param controller stops the request, and is aborted when the time is up
 * @throws LoadError
 */
export async function loadOptions(wanted: Wanted, controller: AbortController): Promise<LoadedOptions> {
  const { signal } = controller;
  const timer = setTimeout(() => {
    renewImport();
    controller.abort();
  }, timeoutMs);
  try {
    const { text, tag, status } = await requestOptions(wanted, signal, performance.now() + timeoutMs);
    const body = parseJson(text);
    const rows = body?.styles ?? body?.pzlines;
    if (Array.isArray(rows) && rows.length === 0) return { styles: [], tag: "", form: undefined };
    const form = await Promise.race([importForm(), untilAborted(signal)]);
    const styles = form.readOptions(body);
    if (!styles) throw new LoadError("answer", status);
    return { styles, tag: tag || form.checksum(`${wanted.sku}\n${text}`), form };
  } catch (error) {
    if (error instanceof LoadError) throw error;
    throw new LoadError(signal.aborted ? "timeout" : "network");
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
