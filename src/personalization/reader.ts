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
const comma = ",".charCodeAt(0);
const emptyBody = new TextEncoder().encode('{"pzlines":[],"pzstyles":[],"pzchoices":[]}');
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
  const styleNumbers = readStyleNumbers(lines);
  const styles =
    fragments.styles.find(styleNumbers) ??
    (await fragments.styles.get(styleNumbers, async (numbers) =>
      (await listStyleFragments(database, generation.id, numbers)).map(toStyle),
    ));
  const groupNumbers = readGroupNumbers(styles);
  const groups =
    fragments.groups.find(groupNumbers) ??
    (await fragments.groups.get(groupNumbers, async (numbers) =>
      (await listGroupFragments(database, generation.id, numbers)).map(toGroup),
    ));
  const linesJson = toLinesJson(sku, lines, styles);
  let content = linesJson;
  const fingerprints = [fingerprintOf(sku)];
  for (const { hash, fingerprint } of styles) {
    content += hash;
    fingerprints.push(fingerprint);
  }
  for (const { hash, fingerprint } of groups) {
    content += hash;
    fingerprints.push(fingerprint);
  }
  return { body: toBody(linesJson, styles, groups), tag: hashTag(content), isEmpty: false, fingerprints };
}

/** The groups of some styles, in order, each once. */
function readGroupNumbers(styles: readonly Style[]): number[] {
  const numbers = new Set<number>();
  for (const { groups } of styles) for (const group of groups) numbers.add(group);
  return [...numbers];
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

/** Room for the lines: three bytes per UTF-16 unit, and the brackets around the lists. */
const maxBytesOf = (text: string) => 3 * text.length + 64;

function toBody(lines: string, styles: readonly Style[], groups: readonly Group[]): Uint8Array<ArrayBuffer> {
  let maxBytes = maxBytesOf(lines);
  for (const { rows } of styles) maxBytes += rows.length + 1;
  for (const { rows } of groups) maxBytes += rows.length + 1;
  const body = Buffer.allocUnsafeSlow(maxBytes);
  let end = body.write(`{"pzlines":[${lines}],"pzstyles":[`);
  end = appendRows(body, end, styles);
  end += body.write('],"pzchoices":[', end, "latin1");
  end = appendRows(body, end, groups);
  end += body.write("]}", end, "latin1");
  // A copy, because a view would keep what is left over in memory.
  return new Uint8Array(body.subarray(0, end));
}

/** @returns the offset after the rows */
function appendRows(body: Uint8Array, at: number, fragments: readonly { readonly rows: Uint8Array }[]): number {
  let end = at;
  for (const { rows } of fragments) {
    if (rows.length === 0) continue;
    if (end > at) body[end++] = comma;
    body.set(rows, end);
    end += rows.length;
  }
  return end;
}
