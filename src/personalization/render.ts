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
    /** The beginning of a line in JSON, between the SKU and the display sequence. */
    readonly line: string;
  };

export type Group = GroupFragment & Prepared;

const hashOf = (bytes: Uint8Array): bigint => Bun.hash.xxHash3(bytes);

export function toStyle(fragment: StyleFragment): Style {
  const { code, rows } = fragment;
  const line = `${JSON.stringify(code)},"style_display_seq":`;
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

/**
 * @param lines packed
 * @param styles those of the lines, in the same order
 * @param groups those of the styles, each once
 */
export function render(
  sku: string,
  lines: Uint8Array,
  styles: readonly Style[],
  groups: readonly Group[],
): FoundPersonalization {
  const start = `{"pzlines":[${toLinesJson(sku, lines, styles)}`;
  const startBytes = Buffer.byteLength(start);
  const body = Buffer.allocUnsafeSlow(startBytes + bytesOf(styles) + bytesOf(groups) + fixedBytes);
  body.write(start);
  const stylesEnd = appendRows(body, append(body, startBytes, stylesStart), styles);
  append(body, appendRows(body, append(body, stylesEnd, groupsStart), groups), bodyEnd);

  // The tag hashes hashes of the same length: that of the lines, one for each line's style, and
  // those of the groups. So different responses never join to the same bytes.
  const hashes = new BigUint64Array(1 + styles.length + groups.length);
  hashes[0] = hashOf(body.subarray(0, startBytes));
  const fingerprints = [fingerprintOf(sku)];
  let place = 1;
  for (const fragments of [styles, groups]) {
    for (const { hash, fingerprint } of fragments) {
      hashes[place++] = hash;
      fingerprints.push(fingerprint);
    }
  }
  return { body, tag: hashTag(hashes), isEmpty: false, fingerprints };
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

const encode = (text: string) => new TextEncoder().encode(text);
const comma = ",".charCodeAt(0);
const stylesStart = encode('],"pzstyles":[');
const groupsStart = encode('],"pzchoices":[');
const bodyEnd = encode("]}");
const fixedBytes = stylesStart.length + groupsStart.length + bodyEnd.length;

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
