import { ServiceError } from "../base/errors.ts";
import { hashTag } from "../base/hash.ts";
import { listLookups, lookUpLocale } from "../base/locale.ts";
import { chain, type MaybePromise } from "../base/maybe-promise.ts";
import type { FormChoice, FormLine, FormStyle } from "../contract/form.ts";
import type { Choice, Style as StyleRow } from "../contract/personalization.ts";
import type { Database } from "../database/database.ts";
import { encodeText } from "./bytes.ts";
import { fingerprintOf, presentationFingerprint } from "./fingerprint.ts";
import { FragmentCache } from "./fragment-cache.ts";
import type { CurrentGeneration } from "./generation.ts";
import { LineCursor } from "./packed-lines.ts";
import { parseRows } from "./presentation/codes.ts";
import {
  type Appearance,
  choiceKey,
  keyOf,
  lineKey,
  listLocales,
  type PresentationEntry,
  styleKey,
  type Texts,
} from "./presentation/entry.ts";
import { findEntries } from "./presentation/store.ts";
import { type FoundPersonalization, fingerprintsOf, type Group, type PreparedStyle, type SkuParts } from "./render.ts";

/** The form of a SKU, ready to serve; or the offered locale to request instead. */
export type FoundForm =
  | (FoundPersonalization & { readonly locale?: undefined })
  | { readonly locale: string; readonly fingerprints: readonly number[] };

/** A form may be much larger than its rows, because each line repeats its choices. */
const maxFormBytes = 16 * 2 ** 20;

interface Presentation {
  /** The default locale and those of its texts, each with its index. */
  readonly locales: ReadonlyMap<string, number>;
  readonly entries: ReadonlyMap<string, PresentationEntry>;
}

/** A style's part of a form, from its name on, which is the same for all SKUs. */
interface Part {
  readonly number: number;
  readonly rows: Uint8Array;
}

/** More than the locales of any presentation. */
const maxLocales = 64;

const cursor = new LineCursor();

/** Renders forms for one generation with one presentation; neither ever changes. */
export class FormRenderer {
  /** Undefined without a presentation. */
  readonly current: CurrentGeneration["presentation"];
  readonly #brand: string;
  readonly #defaultLocale: string;
  readonly #parts: FragmentCache<Part>;
  #presentation: Presentation | undefined;
  /** Shared by all forms that need it at the same time. */
  #loading: Promise<Presentation | undefined> | undefined;

  constructor(brand: string, current: CurrentGeneration["presentation"], defaultLocale: string, maxBytes: number) {
    this.current = current;
    this.#brand = brand;
    this.#defaultLocale = defaultLocale;
    this.#parts = new FragmentCache(maxBytes);
    if (current === undefined) this.#presentation = toPresentation([], defaultLocale);
  }

  /**
   * @param findParts undefined for an unknown SKU
   * @returns `outdated` if the presentation is no longer stored
   */
  find(
    database: Database,
    sku: string,
    locale: string,
    findParts: (() => MaybePromise<SkuParts>) | undefined,
  ): MaybePromise<FoundForm | "outdated"> {
    return chain(this.#load(database), (presentation) => {
      if (presentation === undefined) return "outdated";
      const offered = lookUpLocale(locale, presentation.locales, this.#defaultLocale);
      const fingerprints = [fingerprintOf(sku), presentationFingerprint(this.#brand)];
      if (offered !== locale) return { locale: offered, fingerprints };
      if (findParts === undefined) return toForm(sku, locale, [], true, fingerprints);
      return chain(findParts(), (parts) => this.#render(locale, parts, presentation));
    });
  }

  /** The default locale and those of its texts; none if the presentation is no longer stored. */
  listLocales(database: Database): MaybePromise<readonly string[]> {
    return chain(this.#load(database), (presentation) => Array.from(presentation?.locales.keys() ?? []));
  }

  #load(database: Database): MaybePromise<Presentation | undefined> {
    if (this.#presentation !== undefined) return this.#presentation;
    this.#loading ??= findEntries(database, this.current?.id ?? 0)
      .then((entries) => {
        this.#presentation = entries && toPresentation(entries, this.#defaultLocale);
        return this.#presentation;
      })
      .finally(() => {
        this.#loading = undefined;
      });
    return this.#loading;
  }

  #render(locale: string, forSku: SkuParts, presentation: Presentation): MaybePromise<FoundForm> {
    const { sku, lines, styles, groups } = forSku;
    const place = presentation.locales.get(locale) ?? 0;
    const numbers = styles.map(({ number }) => number * maxLocales + place);
    const parts = this.#parts.get(numbers, (missing) => {
      const lookups = [...listLookups(locale), ...listLookups(this.#defaultLocale)];
      const writer = new PartWriter(presentation, lookups, groups);
      const absent = new Set(missing);
      return numbers.flatMap((number, index) =>
        absent.has(number) ? [{ number, rows: writer.write(styles[index] as PreparedStyle) }] : [],
      );
    });
    return chain(parts, (ofStyles) => {
      const chunks: Uint8Array[] = [];
      cursor.reset(lines);
      ofStyles.forEach(({ rows }, index) => {
        cursor.next();
        const line = {
          style_code: (styles[index] as PreparedStyle).code,
          style_display_seq: cursor.sequence,
          style_sku_status: cursor.status,
        };
        chunks.push(encodeText(`${index > 0 ? "," : ""}${JSON.stringify(line).slice(0, -1)},`), rows);
      });
      const [ofSku = 0, ...ofFragments] = fingerprintsOf(forSku);
      const fingerprints = [ofSku, presentationFingerprint(this.#brand), ...ofFragments];
      return toForm(sku, locale, chunks, false, fingerprints);
    });
  }
}

function toPresentation(entries: readonly PresentationEntry[], defaultLocale: string): Presentation {
  return {
    locales: new Map([...new Set([defaultLocale, ...listLocales(entries)])].map((locale, place) => [locale, place])),
    entries: new Map(entries.map((entry) => [keyOf(entry), entry])),
  };
}

const bodyEnd = encodeText("]}");

function toForm(
  sku: string,
  locale: string,
  styles: readonly Uint8Array[],
  isEmpty: boolean,
  fingerprints: readonly number[],
): FoundForm {
  const chunks = [encodeText(`{"sku_id":${JSON.stringify(sku)},"locale":"${locale}","styles":[`), ...styles, bodyEnd];
  refuseBeyond(chunks.reduce((sum, { length }) => sum + length, 0));
  const body = Bun.concatArrayBuffers(chunks, Number.POSITIVE_INFINITY, true);
  return { body, tag: hashTag(body), isEmpty, fingerprints };
}

export class LargeFormError extends ServiceError {
  constructor() {
    super("unavailable", "The form is larger than 16 MB. Use the personalization of the SKU.");
  }
}

/** @throws LargeFormError */
function refuseBeyond(bytes: number): void {
  if (bytes > maxFormBytes) throw new LargeFormError();
}

class PartWriter {
  readonly #entries: Presentation["entries"];
  /** Locales to look for a text in, best first. */
  readonly #locales: readonly string[];
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #choices = new Map<string, string>();
  /** Length of all lines so far, which is at most their size in bytes. */
  #length = 0;

  constructor({ entries }: Presentation, locales: readonly string[], groups: readonly Group[]) {
    this.#entries = entries;
    this.#locales = locales;
    this.#groups = new Map(groups.map((group) => [group.name, group]));
  }

  write({ code, rows }: PreparedStyle): Uint8Array {
    const appearance = this.#describe(this.#entries.get(styleKey(code)), code) satisfies Partial<FormStyle>;
    const lines = parseRows<StyleRow>(rows).map((row) => {
      const line = this.#writeLine(code, row);
      this.#length += line.length;
      refuseBeyond(this.#length);
      return line;
    });
    return encodeText(`${JSON.stringify(appearance).slice(1, -1)},"lines":[${lines.join(",")}]}`);
  }

  #writeLine(style: string, { line_display_seq, line_status, choice_type, instruct_text }: StyleRow): string {
    const entry = this.#entries.get(lineKey(style, line_display_seq));
    const line: Omit<FormLine, "choices"> = {
      line_display_seq,
      line_status,
      choice_type,
      instruct_text,
      ...this.#describe(entry, instruct_text),
      limit: entry?.limit ?? null,
      characters: entry?.characters ?? null,
      required: entry?.required ?? null,
      uppercase: entry?.uppercase ?? false,
    };
    return `${JSON.stringify(line).slice(0, -1)},"choices":[${this.#choicesOf(choice_type)}]}`;
  }

  /** Writes choices once for all lines that have them. */
  #choicesOf(name: string): string {
    const known = this.#choices.get(name);
    if (known !== undefined) return known;
    const rows = parseRows<Choice>(this.#groups.get(name)?.rows ?? new Uint8Array());
    const choices = rows.map(({ choice_value, choice_display_seq, choice_status }): FormChoice => {
      const entry = this.#entries.get(choiceKey(name, choice_value));
      return { choice_value, choice_display_seq, choice_status, ...this.#describe(entry, choice_value) };
    });
    const text = JSON.stringify(choices).slice(1, -1);
    this.#choices.set(name, text);
    return text;
  }

  #describe(entry: Appearance | undefined, code: string) {
    return {
      name: this.#find(entry?.name) ?? code,
      help: this.#find(entry?.help) ?? null,
      image: entry?.image ?? null,
    };
  }

  #find(texts: Texts | undefined): string | undefined {
    if (texts === undefined) return undefined;
    for (const locale of this.#locales) if (Object.hasOwn(texts, locale)) return texts[locale];
    return undefined;
  }
}
