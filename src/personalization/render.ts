import { ServiceError } from "../base/errors.ts";
import { hashTag } from "../base/hash.ts";
import { encodeText } from "./bytes.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { LineCursor } from "./packed-lines.ts";
import type { GroupFragment, StyleFragment } from "./store.ts";

export interface FoundPersonalization {
  /** JSON in UTF-8, in the shape of `personalizationSchema`. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Without quotes. Equal bodies have equal tags, whatever the generation or store. */
  readonly tag: string;
  /** Whether the SKU is unknown. */
  readonly isEmpty: boolean;
  /** Everything that can change the body: the SKU, its styles, and their choice groups. */
  readonly fingerprints: readonly number[];
}

interface Prepared {
  readonly hash: bigint;
  readonly fingerprint: number;
}

/** A style, prepared once for all its SKUs. */
export type PreparedStyle = StyleFragment &
  Prepared & {
    /** A line's JSON between the SKU and the display sequence. */
    readonly line: Uint8Array;
  };

export type Group = GroupFragment & Prepared;

const hashOf = (bytes: Uint8Array): bigint => Bun.hash.xxHash3(bytes);

export function toStyle(fragment: StyleFragment): PreparedStyle {
  const { code, rows } = fragment;
  const line = encodeText(`,"style_code":${JSON.stringify(code)},"style_display_seq":`);
  return { ...fragment, line, hash: hashOf(rows), fingerprint: fingerprintOf(code) };
}

export function toGroup(fragment: GroupFragment): Group {
  const { name, rows } = fragment;
  return { ...fragment, hash: hashOf(rows), fingerprint: fingerprintOf(name) };
}

const cursor = new LineCursor();

export function readStyleNumbers(lines: Uint8Array): number[] {
  const numbers: number[] = [];
  for (cursor.reset(lines); !cursor.isAtEnd; ) {
    cursor.next();
    numbers.push(cursor.style);
  }
  return numbers;
}

/** Up to this number, searching an array costs less than a set. */
const fewGroups = 32;

export function readGroupNumbers(styles: readonly PreparedStyle[]): number[] {
  const numbers: number[] = [];
  for (const { groups } of styles) {
    if (numbers.length + groups.length > fewGroups) return [...new Set(styles.flatMap((style) => style.groups))];
    for (const group of groups) if (!numbers.includes(group)) numbers.push(group);
  }
  return numbers;
}

const emptyBody = encodeText('{"pzlines":[],"pzstyles":[],"pzchoices":[]}');
const emptyTag = hashTag("");

export function renderEmpty(sku: string): FoundPersonalization {
  return { body: emptyBody, tag: emptyTag, isEmpty: true, fingerprints: [fingerprintOf(sku)] };
}

export interface SkuParts {
  readonly sku: string;
  /** Packed. */
  readonly lines: Uint8Array;
  /** Styles of the lines, in the same order. */
  readonly styles: readonly PreparedStyle[];
  /** Distinct groups of the styles. */
  readonly groups: readonly Group[];
}

export function render(parts: SkuParts): FoundPersonalization {
  const { styles, groups } = parts;
  const maxBytes = maxBytesOf(parts);
  // The size is known only after writing.
  const json = maxBytes > scratch.length ? new Uint8Array(maxBytes) : scratch;
  json[0] = openingBrace;
  const { linesEnd, end } = write(json, 1, parts, encodeText(JSON.stringify(parts.sku)));
  // The tag hashes hashes of equal length, for the lines, each line's style, and each group, so
  // that different responses never concatenate to the same bytes.
  const hashes = new BigUint64Array(1 + styles.length + groups.length);
  hashes[0] = hashOf(json.subarray(1 + linesStart.length, linesEnd));
  let place = 1;
  for (const fragments of [styles, groups]) for (const { hash } of fragments) hashes[place++] = hash;
  return { body: json.slice(0, end), tag: hashTag(hashes), isEmpty: false, fingerprints: fingerprintsOf(parts) };
}

export function fingerprintsOf({ sku, styles, groups }: SkuParts): number[] {
  const fingerprints = [fingerprintOf(sku)];
  for (const fragments of [styles, groups]) for (const { fingerprint } of fragments) fingerprints.push(fingerprint);
  return fingerprints;
}

/**
 * Includes the closing brace.
 * @param sku as JSON
 */
function write(json: Uint8Array, at: number, parts: SkuParts, sku: Uint8Array) {
  const linesEnd = writeLines(json, append(json, at, linesStart), parts, sku);
  const stylesEnd = appendRows(json, append(json, linesEnd, stylesStart), parts.styles);
  const groupsEnd = appendRows(json, append(json, stylesEnd, groupsStart), parts.groups);
  return { linesEnd, end: append(json, groupsEnd, bodyEnd) };
}

const batchStart = encodeText('{"personalizations":[');
const skuStart = encodeText('{"sku":');
const noLists = emptyBody.subarray(1);

/** Each SKU has its own copy of the choices, and each URL its own body. */
export const maxBatchBytes = 16 * 2 ** 20;

export const largeBatch = () =>
  new ServiceError("bad_request", "The personalization of these SKUs is larger than 16 MB. Request fewer at once.");

/** Reused, because new memory costs more than writing to it. */
let batchScratch = new Uint8Array();
const maxBatchScratchBytes = 2 ** 19;

/**
 * @param found their personalization, in the same order; undefined for unknown SKUs
 * @throws ServiceError `bad_request` if it is larger than 16 MB
 */
export function renderBatch(skus: readonly string[], found: readonly (SkuParts | undefined)[]): FoundPersonalization {
  if (batchScratch.length === 0) batchScratch = new Uint8Array(maxBatchScratchBytes);
  let json = batchScratch;
  const fingerprints = new Set<number>();
  let end = append(json, 0, batchStart);
  for (const [index, parts] of found.entries()) {
    const name = encodeText(JSON.stringify(skus[index]));
    const nextBytes = skuStart.length + name.length + 2 + (parts === undefined ? noLists.length : maxBytesOf(parts));
    json = withRoom(json, end, nextBytes + bodyEnd.length);
    if (index > 0) json[end++] = comma;
    end = append(json, append(json, end, skuStart), name);
    json[end++] = comma;
    if (parts === undefined) {
      end = append(json, end, noLists);
      fingerprints.add(fingerprintOf(skus[index] as string));
    } else {
      end = write(json, end, parts, name).end;
      for (const fingerprint of fingerprintsOf(parts)) fingerprints.add(fingerprint);
    }
    if (end > maxBatchBytes) throw largeBatch();
  }
  const body = json.slice(0, append(json, end, bodyEnd));
  const isEmpty = found.every((parts) => parts === undefined);
  return { body, tag: hashTag(body), isEmpty, fingerprints: [...fingerprints] };
}

/** Copies the bytes if there is too little room. */
function withRoom(bytes: Uint8Array<ArrayBuffer>, end: number, more: number): Uint8Array<ArrayBuffer> {
  if (bytes.length - end >= more) return bytes;
  const larger = new Uint8Array(Math.max(bytes.length * 2, end + more));
  larger.set(bytes.subarray(0, end));
  return larger;
}

/** Reused for all but large responses. */
const scratch = new Uint8Array(2 ** 16);
const [quote = 0, comma = 0, openingBrace = 0, brace = 0, backslash = 0] = encodeText('",{}\\');
const lineStart = encodeText('{"sku_id":');
const statusStart = encodeText(',"style_sku_status":');
const linesStart = encodeText('"pzlines":[');
const stylesStart = encodeText('],"pzstyles":[');
const groupsStart = encodeText('],"pzchoices":[');
const bodyEnd = encodeText("]}");
/** The names, quotes, and comma of a line. */
const lineBytes = '{"sku_id":"",'.length + statusStart.length + 16;
const fixedBytes = 1 + linesStart.length + stylesStart.length + groupsStart.length + bodyEnd.length;

export const rowBytesOf = ({ styles, groups }: SkuParts) => bytesOf(styles) + bytesOf(groups);

/**
 * Up to six bytes of JSON, as for a control character, for each unit of the SKU and each packed
 * byte.
 */
function maxBytesOf(parts: SkuParts): number {
  const { sku, lines, styles } = parts;
  let bytes = fixedBytes + lines.length * 6 + rowBytesOf(parts);
  for (const { line } of styles) bytes += line.length + sku.length * 6 + lineBytes;
  return bytes;
}

/** @returns the offset after the lines */
function writeLines(json: Uint8Array, at: number, { lines, styles }: SkuParts, sku: Uint8Array): number {
  let end = at;
  let index = 0;
  for (cursor.reset(lines); !cursor.isAtEnd; index++) {
    cursor.next();
    if (index > 0) json[end++] = comma;
    end = append(json, append(json, end, lineStart), sku);
    end = append(json, end, (styles[index] as PreparedStyle).line);
    const { plainSequence, plainStatus } = cursor;
    if (plainSequence >= 0 && plainSequence < 10) end = appendQuoted(json, end, plainSequence + 0x30);
    else end = append(json, end, encodeText(JSON.stringify(cursor.sequence)));
    end = append(json, end, statusStart);
    const isPlain = plainStatus >= 0x20 && plainStatus !== quote && plainStatus !== backslash;
    if (isPlain) end = appendQuoted(json, end, plainStatus);
    else end = append(json, end, encodeText(JSON.stringify(cursor.status)));
    json[end++] = brace;
  }
  return end;
}

/** @returns the offset after the quotes */
function appendQuoted(json: Uint8Array, at: number, character: number): number {
  json[at] = quote;
  json[at + 1] = character;
  json[at + 2] = quote;
  return at + 3;
}

interface Rows {
  readonly rows: Uint8Array;
}

/** Includes commas between nonempty fragments. */
function bytesOf(fragments: readonly Rows[]): number {
  let bytes = 0;
  for (const { rows } of fragments) if (rows.length > 0) bytes += rows.length + 1;
  return Math.max(bytes - 1, 0);
}

function append(body: Uint8Array, at: number, bytes: Uint8Array): number {
  body.set(bytes, at);
  return at + bytes.length;
}

function appendRows(body: Uint8Array, at: number, fragments: readonly Rows[]): number {
  let end = at;
  for (const { rows } of fragments) {
    if (rows.length === 0) continue;
    if (end > at) body[end++] = comma;
    end = append(body, end, rows);
  }
  return end;
}
