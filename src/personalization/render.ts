import { LineCursor } from "../database/packed-lines.ts";
import type { GroupFragment, StyleFragment } from "../database/personalization.ts";
import { hashTag } from "../model/entity-tag.ts";
import { fingerprintOf } from "../model/fingerprint.ts";

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

interface Prepared {
  /** Of the rows. */
  readonly hash: bigint;
  /** Of the name. */
  readonly fingerprint: number;
}

/** A style, prepared once for all its SKUs. */
export type Style = StyleFragment &
  Prepared & {
    /** The part of a line in JSON between the SKU and the display sequence. */
    readonly line: Uint8Array;
  };

export type Group = GroupFragment & Prepared;

const encoder = new TextEncoder();
const encode = (text: string) => encoder.encode(text);
const hashOf = (bytes: Uint8Array): bigint => Bun.hash.xxHash3(bytes);

export function toStyle(fragment: StyleFragment): Style {
  const { code, rows } = fragment;
  const line = encode(`,"style_code":${JSON.stringify(code)},"style_display_seq":`);
  return { ...fragment, line, hash: hashOf(rows), fingerprint: fingerprintOf(code) };
}

export function toGroup(fragment: GroupFragment): Group {
  const { name, rows } = fragment;
  return { ...fragment, hash: hashOf(rows), fingerprint: fingerprintOf(name) };
}

const cursor = new LineCursor();

/** Numbers of the styles of packed lines, in order. */
export function readStyleNumbers(lines: Uint8Array): number[] {
  const numbers: number[] = [];
  for (cursor.reset(lines); !cursor.isAtEnd; ) {
    cursor.next();
    numbers.push(cursor.style);
  }
  return numbers;
}

/** Numbers of the groups of some styles, in order, each once. */
export function readGroupNumbers(styles: readonly Style[]): number[] {
  const numbers = new Set<number>();
  for (const { groups } of styles) for (const group of groups) numbers.add(group);
  return Array.from(numbers);
}

const emptyBody = new TextEncoder().encode('{"pzlines":[],"pzstyles":[],"pzchoices":[]}');
const emptyTag = hashTag("");

export function renderEmpty(sku: string): FoundPersonalization {
  return { body: emptyBody, tag: emptyTag, isEmpty: true, fingerprints: [fingerprintOf(sku)] };
}

/** Renders a SKU; see {@link render}. */
export type Render<Rendered> = (
  sku: string,
  lines: Uint8Array,
  styles: readonly Style[],
  groups: readonly Group[],
) => Rendered;

/**
 * @param lines packed
 * @param styles those of the lines, in the same order
 * @param groups those of the styles, each once
 */
export const render: Render<FoundPersonalization> = (sku, lines, styles, groups) => {
  const { body, linesEnd } = writeBody(sku, lines, styles, groups);
  // The tag hashes hashes of the same length: that of the lines, one for each line's style, and
  // those of the groups. So different responses never join to the same bytes.
  const hashes = new BigUint64Array(1 + styles.length + groups.length);
  hashes[0] = hashOf(body.subarray(linesStart.length, linesEnd));
  let place = 1;
  for (const fragments of [styles, groups]) for (const { hash } of fragments) hashes[place++] = hash;
  return { body, tag: hashTag(hashes), isEmpty: false, fingerprints: listFingerprints(sku, styles, groups) };
};

/** A SKU as a part of a response, whose tag is that of all its parts. */
export type PersonalizationPart = Omit<FoundPersonalization, "tag">;

export const renderPart: Render<PersonalizationPart> = (sku, lines, styles, groups) => {
  const { body } = writeBody(sku, lines, styles, groups);
  return { body, isEmpty: false, fingerprints: listFingerprints(sku, styles, groups) };
};

function listFingerprints(sku: string, styles: readonly Style[], groups: readonly Group[]): number[] {
  const fingerprints = [fingerprintOf(sku)];
  for (const fragments of [styles, groups]) for (const { fingerprint } of fragments) fingerprints.push(fingerprint);
  return fingerprints;
}

/** @returns the body, and the offset after its lines */
function writeBody(sku: string, lines: Uint8Array, styles: readonly Style[], groups: readonly Group[]) {
  const linesJson = writeLines(sku, lines, styles);
  const body = new Uint8Array(linesJson.length + bytesOf(styles) + bytesOf(groups) + fixedBytes);
  const linesEnd = append(body, append(body, 0, linesStart), linesJson);
  const stylesEnd = appendRows(body, append(body, linesEnd, stylesStart), styles);
  append(body, appendRows(body, append(body, stylesEnd, groupsStart), groups), bodyEnd);
  return { body, linesEnd };
}

const batchStart = encode('{"personalizations":[');

/**
 * Several SKUs as one response.
 * @param found their personalization, in the same order
 */
export function renderBatch(skus: readonly string[], found: readonly PersonalizationPart[]): FoundPersonalization {
  const parts: Uint8Array[] = [batchStart];
  const fingerprints = new Set<number>();
  found.forEach(({ body, fingerprints: ofSku }, index) => {
    // In place of the first brace of its own response.
    parts.push(encode(`${index > 0 ? "," : ""}{"sku":${JSON.stringify(skus[index])},`), body.subarray(1));
    for (const fingerprint of ofSku) fingerprints.add(fingerprint);
  });
  parts.push(bodyEnd);
  const body = new Uint8Array(parts.reduce((bytes, part) => bytes + part.length, 0));
  parts.reduce((end, part) => append(body, end, part), 0);
  return {
    body,
    tag: hashTag(body),
    isEmpty: found.every(({ isEmpty }) => isEmpty),
    fingerprints: [...fingerprints],
  };
}

/** Lines are written here first, because their size is not known before. */
const scratch = new Uint8Array(2 ** 16);
const [quote, comma, brace, backslash] = encode('",}\\') as unknown as [number, number, number, number];
const statusStart = encode(',"style_sku_status":');
const linesStart = encode('{"pzlines":[');
const stylesStart = encode('],"pzstyles":[');
const groupsStart = encode('],"pzchoices":[');
const bodyEnd = encode("]}");
const fixedBytes = linesStart.length + stylesStart.length + groupsStart.length + bodyEnd.length;

/** The lines as JSON, separated by commas. Valid until the next call. */
function writeLines(sku: string, lines: Uint8Array, styles: readonly Style[]): Uint8Array {
  const start = encode(`{"sku_id":${JSON.stringify(sku)}`);
  // Up to six bytes for each packed one, which may be a control character.
  let maxBytes = lines.length * 6 + styles.length * (start.length + statusStart.length + 16);
  for (const { line } of styles) maxBytes += line.length;
  const json = maxBytes > scratch.length ? new Uint8Array(maxBytes) : scratch;
  let end = 0;
  let index = 0;
  for (cursor.reset(lines); !cursor.isAtEnd; index++) {
    cursor.next();
    if (index > 0) json[end++] = comma;
    end = append(json, end, start);
    end = append(json, end, (styles[index] as Style).line);
    const { plainSequence, plainStatus } = cursor;
    if (plainSequence >= 0 && plainSequence < 10) end = appendQuoted(json, end, plainSequence + 0x30);
    else end = append(json, end, encode(JSON.stringify(cursor.sequence)));
    end = append(json, end, statusStart);
    const isPlain = plainStatus >= 0x20 && plainStatus !== quote && plainStatus !== backslash;
    if (isPlain) end = appendQuoted(json, end, plainStatus);
    else end = append(json, end, encode(JSON.stringify(cursor.status)));
    json[end++] = brace;
  }
  return json.subarray(0, end);
}

/** Appends one ASCII character in quotes. @returns the offset after it */
function appendQuoted(json: Uint8Array, at: number, character: number): number {
  json[at] = quote;
  json[at + 1] = character;
  json[at + 2] = quote;
  return at + 3;
}

interface Rows {
  readonly rows: Uint8Array;
}

/** Bytes of the rows with a comma between any two fragments that have some. */
function bytesOf(fragments: readonly Rows[]): number {
  let bytes = 0;
  for (const { rows } of fragments) if (rows.length > 0) bytes += rows.length + 1;
  return Math.max(bytes - 1, 0);
}

/** @returns the offset after the bytes */
function append(body: Uint8Array, at: number, bytes: Uint8Array): number {
  body.set(bytes, at);
  return at + bytes.length;
}

/** @returns the offset after the rows */
function appendRows(body: Uint8Array, at: number, fragments: readonly Rows[]): number {
  let end = at;
  for (const { rows } of fragments) {
    if (rows.length === 0) continue;
    if (end > at) body[end++] = comma;
    end = append(body, end, rows);
  }
  return end;
}
