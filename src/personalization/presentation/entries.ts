import { z } from "zod";
import { isLonger } from "../../base/format.ts";
import { checkValue } from "../../base/issues.ts";
import { toLocale } from "../../base/locale.ts";
import { suggest } from "../../base/suggest.ts";
import { isTable } from "../../base/toml.ts";
import { reportedReasons } from "../../jobs/import-report.ts";
import { toCharacterClass } from "./characters.ts";
import { type EntryKey, keyOf, type PresentationEntry, type Texts } from "./entry.ts";

const maxName = 200;
const maxHelp = 2000;
const maxImage = 2000;
const maxCharacters = 1000;
const maxLimit = 1000;
/** In UTF-16 units. */
const maxCode = 2600;
/** Every serving process keeps all of them in memory. */
export const maxLocales = 50;

const text = (max: number) =>
  z
    .string()
    .refine((value) => value.trim() !== "", { error: "is empty", abort: true })
    .refine((value) => !isLonger(value, max), { error: `is longer than ${max} characters`, abort: true })
    .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value.replaceAll("\n", "")), "has control characters");

/** Rejects locales that differ only in case, because one of the texts would be lost. */
const texts = (max: number) =>
  z
    .unknown()
    // A record leaves out the key `__proto__`.
    .transform((given) => (isTable(given) ? new Map(Object.entries(given)) : given))
    .pipe(z.map(z.string(), text(max)))
    .transform((given, context): Texts => {
      const found = new Map<string, string>();
      for (const [tag, value] of given) {
        const locale = toLocale(tag);
        const problem =
          locale === undefined
            ? "is not a locale such as en or fr-CA"
            : `repeats the locale ${locale} in other letters`;
        if (locale === undefined || found.has(locale)) {
          context.addIssue({ code: "custom", message: problem, path: [tag] });
        } else found.set(locale, value);
      }
      // Sorted, so that equal texts make equal entries.
      return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
    });

const textUpTo = (max: number) =>
  z.string().refine((value) => !isLonger(value, max), { error: `is longer than ${max} characters`, abort: true });

const image = textUpTo(maxImage).refine(
  (value) => isImage(value),
  "expected an https:// or http:// URL, or a path that begins with one /",
);

/** On a page, `//host` and `/\host` are URLs of another host. */
function isImage(value: string): boolean {
  if (!/^(https?:\/\/|\/(?!\/))/i.test(value) || /[\s\p{Cc}"<>\\]/u.test(value)) return false;
  return URL.canParse(value, "https://page.example");
}

const characters = textUpTo(maxCharacters).transform((value, context) => {
  try {
    return toCharacterClass(value);
  } catch (error) {
    context.addIssue((error as Error).message);
    return z.NEVER;
  }
});

const appearance = { name: texts(maxName).optional(), help: texts(maxHelp).optional(), image: image.optional() };

const rules = {
  limit: z.int().min(1).max(maxLimit).optional(),
  characters: characters.optional(),
  required: z.boolean().optional(),
  uppercase: z.boolean().optional(),
};

const appearanceSchema = z.strictObject(appearance);
const lineSchema = z.strictObject({ ...appearance, ...rules });

export interface EntryProblem {
  /** The field, such as `["name", "de"]`; empty if it is the whole entry. */
  readonly path: readonly string[];
  readonly reason: string;
}

/** @returns the entry, or its problems, as many as reports show */
export function checkEntry(key: EntryKey, values: unknown): PresentationEntry | EntryProblem[] {
  const problem = findCodeProblem(key);
  if (problem !== undefined) return [{ path: [], reason: problem }];
  const isLine = "style" in key && key.line !== undefined;
  const schema = isLine ? lineSchema : appearanceSchema;
  const { data, problems } = checkValue<typeof lineSchema | typeof appearanceSchema>(schema, values);
  if (data !== undefined) return { ...key, ...data };
  return problems.slice(0, reportedReasons).map((problem) => {
    const path = problem.path.map(String);
    if ("reason" in problem) return { path, reason: problem.reason };
    return { path, reason: describeUnknown(path.at(-1) ?? "", problem.validKeys) };
  });
}

/** A feed's values are never empty, and have no NUL. */
function findCodeProblem(key: EntryKey): string | undefined {
  for (const [name, code = ""] of Object.entries(key)) {
    if (code === "") return `the ${name} is empty`;
    if (code.length > maxCode || code.includes("\0") || !code.isWellFormed()) return `the ${name} cannot be in a feed`;
  }
  return undefined;
}

function describeUnknown(field: string, fields: readonly string[]): string {
  if (Object.hasOwn(rules, field)) return "is a field of lines, not of styles and choices";
  return `is not a field; ${suggest(field, fields, "fields")}`;
}

/** Sorted by key, so that equal files make equal documents. */
export const sortEntries = (entries: Iterable<PresentationEntry>) =>
  [...entries]
    .map((entry) => ({ key: keyOf(entry), entry }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ entry }) => entry);
