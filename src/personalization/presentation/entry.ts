import { quoteIfOdd } from "../../base/format.ts";

/** By locale. */
export type Texts = Readonly<Record<string, string>>;

/** Everything is optional. */
export interface Appearance {
  readonly name?: Texts | undefined;
  readonly help?: Texts | undefined;
  /** URL, or a path that begins with a slash. */
  readonly image?: string | undefined;
}

/** Rules for a shopper's text, the same in every language. */
export interface LineRules {
  /** Number of graphemes. */
  readonly limit?: number | undefined;
  /** The allowed characters as a class of a regular expression, with the flag `u` or `v`. */
  readonly characters?: string | undefined;
  readonly required?: boolean | undefined;
  readonly uppercase?: boolean | undefined;
}

export type EntryKey =
  | { readonly style: string; readonly line?: string | undefined }
  | { readonly group: string; readonly choice: string };

/** A line is identified by its display sequence. */
export type PresentationEntry = EntryKey & Appearance & LineRules;

/** No code contains a NUL, so different keys differ. */
export const styleKey = (style: string) => `style\0${style}`;
export const lineKey = (style: string, line: string) => `line\0${style}\0${line}`;
export const choiceKey = (group: string, choice: string) => `choice\0${group}\0${choice}`;

export function keyOf(entry: EntryKey): string {
  if ("group" in entry) return choiceKey(entry.group, entry.choice);
  return entry.line === undefined ? styleKey(entry.style) : lineKey(entry.style, entry.line);
}

/** A key in words, for messages. */
export function describeKey(entry: EntryKey): string {
  if ("group" in entry) return `choice ${quoteIfOdd(entry.choice)} of ${quoteIfOdd(entry.group)}`;
  const style = quoteIfOdd(entry.style);
  return entry.line === undefined ? `style ${style}` : `line ${quoteIfOdd(entry.line)} of ${style}`;
}

/** The locales that have texts, sorted. */
export function listLocales(entries: readonly PresentationEntry[]): string[] {
  const locales = new Set<string>();
  for (const { name, help } of entries) {
    for (const texts of [name, help]) for (const locale of Object.keys(texts ?? {})) locales.add(locale);
  }
  return [...locales].sort();
}
