import type { Database, Queryable } from "../database/database.ts";
import { type CurrentGeneration, readGenerationList } from "../database/generation.ts";
import { LineCursor } from "../database/packed-lines.ts";
import {
  type FoundLines,
  type GroupFragment,
  LinesQuery,
  listGroupFragments,
  listStyleFragments,
  type StyleFragment,
} from "../database/personalization.ts";
import { hashTag } from "../model/entity-tag.ts";
import { fingerprintOf } from "../model/fingerprint.ts";
import { maxSkuLength, type Personalization } from "../model/personalization.ts";
import { FragmentCache } from "./fragment-cache.ts";

/** The personalization of a SKU, ready to be served. */
export interface FoundPersonalization {
  /** JSON in UTF-8, in the shape of `personalizationSchema`. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Entity tag without quotes. Equal bodies have equal tags, whatever the generation or store. */
  readonly tag: string;
  /** Whether the SKU is unknown. */
  readonly isEmpty: boolean;
  /** Of the SKU, its styles, and their choice groups: everything whose change changes the body. */
  readonly fingerprints: readonly number[];
}

/** The personalization as objects. */
export const parsePersonalization = ({ body }: FoundPersonalization) =>
  JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString()) as Personalization;

type Style = StyleFragment & {
  /** The beginning of a line in JSON, between the SKU and the display sequence. */
  readonly line: string;
  readonly hash: string;
  readonly fingerprint: number;
};
type Group = GroupFragment & { readonly hash: string; readonly fingerprint: number };

/** The fragments of one generation, which never change. */
interface Fragments {
  readonly generation: CurrentGeneration;
  readonly styles: FragmentCache<Style>;
  readonly groups: FragmentCache<Group>;
}

/** The current generations as of one moment. */
interface Snapshot {
  readonly query: LinesQuery;
  readonly fragments: ReadonlyMap<number, Fragments>;
}

const maxAttempts = 3;
/** For the styles and choice groups of all brands. */
const maxFragmentBytes = 32 * 2 ** 20;
const encoder = new TextEncoder();
const pieces = Object.fromEntries(
  Object.entries({
    lines: '{"pzlines":[',
    styles: '],"pzstyles":[',
    choices: '],"pzchoices":[',
    end: "]}",
    comma: ",",
  }).map(([name, text]) => [name, encoder.encode(text)]),
) as Record<"lines" | "styles" | "choices" | "end" | "comma", Uint8Array>;

const emptyBody = encoder.encode('{"pzlines":[],"pzstyles":[],"pzchoices":[]}');
const emptyTag = hashTag("");

/**
 * Reads the personalization of SKUs: the brand's own, or else that of the first other brand that has
 * the SKU. All rows of a response come from one generation.
 */
export class PersonalizationReader {
  readonly #brand: string;
  #snapshot: Promise<Snapshot> | undefined;

  constructor(brand: string) {
    this.#brand = brand;
  }

  async find(database: Database, sku: string): Promise<FoundPersonalization> {
    // No stored SKU matches, and the database would reject a NUL.
    if (sku.length > maxSkuLength || sku.includes("\0")) return toEmpty(sku);
    for (let attempt = 1; ; attempt++) {
      const { query, fragments } = await (this.#snapshot ?? this.#load(database, undefined));
      try {
        const found = await query.find(database, sku);
        if (found === undefined) return toEmpty(sku);
        const known = found === "outdated" ? undefined : fragments.get(found.generation.id);
        if (found !== "outdated" && known !== undefined) return await render(database, sku, found, known);
        if (attempt === maxAttempts) throw new Error("the current generations change too often");
      } catch (error) {
        // A generation may be removed once another is current.
        if (attempt === maxAttempts || !database.engine.isTableMissing(error)) throw error;
      }
      await this.#load(database, fragments);
    }
  }

  /** @param earlier fragments that are kept if their generation is still current */
  #load(database: Queryable, earlier: ReadonlyMap<number, Fragments> | undefined): Promise<Snapshot> {
    const loading = loadSnapshot(database, this.#brand, earlier);
    this.#snapshot = loading;
    loading.catch(() => {
      if (this.#snapshot === loading) this.#snapshot = undefined;
    });
    return loading;
  }
}

async function loadSnapshot(
  database: Queryable,
  brand: string,
  earlier: ReadonlyMap<number, Fragments> | undefined,
): Promise<Snapshot> {
  const list = await readGenerationList(database, brand);
  const maxBytes = maxFragmentBytes / 2 / Math.max(list.generations.length, 1);
  const fragments = list.generations.map((generation): Fragments => {
    const known = earlier?.get(generation.id);
    // A store that was restored from a backup may use an id twice.
    const isSame = known !== undefined && known.generation.loadedAt === generation.loadedAt;
    if (isSame) return known;
    return { generation, styles: new FragmentCache(maxBytes), groups: new FragmentCache(maxBytes) };
  });
  return { query: new LinesQuery(list), fragments: new Map(fragments.map((each) => [each.generation.id, each])) };
}

function toEmpty(sku: string): FoundPersonalization {
  return { body: emptyBody, tag: emptyTag, isEmpty: true, fingerprints: [fingerprintOf(sku)] };
}

async function render(
  database: Queryable,
  sku: string,
  { generation, lines }: FoundLines,
  fragments: Fragments,
): Promise<FoundPersonalization> {
  const styles = await fragments.styles.get(readStyleNumbers(lines), async (numbers) =>
    (await listStyleFragments(database, generation.id, numbers)).map(toStyle),
  );
  const groupNumbers = new Set<number>();
  for (const style of styles) for (const number of style.groups) groupNumbers.add(number);
  const groups = await fragments.groups.get([...groupNumbers], async (numbers) =>
    (await listGroupFragments(database, generation.id, numbers)).map(toGroup),
  );
  const linesJson = toLinesJson(sku, lines, styles);
  let content = linesJson;
  for (const { hash } of styles) content += hash;
  for (const { hash } of groups) content += hash;
  const fingerprints = [fingerprintOf(sku)];
  for (const { fingerprint } of styles) fingerprints.push(fingerprint);
  for (const { fingerprint } of groups) fingerprints.push(fingerprint);
  return { body: toBody(linesJson, styles, groups), tag: hashTag(content), isEmpty: false, fingerprints };
}

const cursor = new LineCursor();

function readStyleNumbers(lines: Uint8Array): number[] {
  const numbers: number[] = [];
  for (cursor.reset(lines); !cursor.isAtEnd; ) {
    cursor.next();
    numbers.push(cursor.style);
  }
  return numbers;
}

/** @param styles those of the lines, in the same order */
function toLinesJson(sku: string, lines: Uint8Array, styles: readonly Style[]): string {
  const start = `{"sku_id":${JSON.stringify(sku)},"style_code":`;
  let json = "";
  let index = 0;
  for (cursor.reset(lines); !cursor.isAtEnd; index++) {
    cursor.next();
    const { plainSequence, status } = cursor;
    const sequence = plainSequence >= 0 ? `"${plainSequence}"` : JSON.stringify(cursor.sequence);
    const line = (styles[index] as Style).line;
    json += `${index === 0 ? "" : ","}${start}${line}${sequence},"style_sku_status":${JSON.stringify(status)}}`;
  }
  return json;
}

function toStyle(fragment: StyleFragment): Style {
  return {
    ...fragment,
    line: `${JSON.stringify(fragment.code)},"style_display_seq":`,
    hash: hashTag(fragment.rows),
    fingerprint: fingerprintOf(fragment.code),
  };
}

const toGroup = (fragment: GroupFragment): Group => ({
  ...fragment,
  hash: hashTag(fragment.rows),
  fingerprint: fingerprintOf(fragment.name),
});

function toBody(lines: string, styles: readonly Style[], groups: readonly Group[]): Uint8Array<ArrayBuffer> {
  const parts = [pieces.lines, encoder.encode(lines), pieces.styles];
  appendRows(parts, styles);
  parts.push(pieces.choices);
  appendRows(parts, groups);
  parts.push(pieces.end);
  return Buffer.concat(parts);
}

function appendRows(parts: Uint8Array[], fragments: readonly { readonly rows: Uint8Array }[]): void {
  let isFirst = true;
  for (const { rows } of fragments) {
    if (rows.length === 0) continue;
    if (!isFirst) parts.push(pieces.comma);
    isFirst = false;
    parts.push(rows);
  }
}
