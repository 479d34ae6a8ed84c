import type { Choice, Line, Style } from "../contract/personalization.ts";

const columnsOf = <Row>(...columns: (keyof Row & string)[]): readonly string[] => columns;

/** The three lists of a feed: columns in the contract's order, and those that form a row's key. */
export const lists = {
  pzlines: {
    columns: columnsOf<Line>("sku_id", "style_code", "style_display_seq", "style_sku_status"),
    key: ["sku_id", "style_code"],
  },
  pzstyles: {
    columns: columnsOf<Style>("style_code", "line_status", "line_display_seq", "choice_type", "instruct_text"),
    key: ["style_code", "line_display_seq"],
  },
  pzchoices: {
    columns: columnsOf<Choice>("choice_type", "choice_status", "choice_display_seq", "choice_value"),
    key: ["choice_type", "choice_value"],
  },
} as const;

export type ListName = keyof typeof lists;
export const listNames = Object.keys(lists) as ListName[];

/** Identify SKUs, styles, and choice groups. The store indexes their values. */
export const keyFields: ReadonlySet<string> = new Set(["sku_id", "style_code", "choice_type"]);

/** Values of {@link keyFields} in UTF-8. Not every engine can index more than 2,700 bytes. */
export const maxKeyBytes = 2600;

/** In characters, the limit of shops. Longer SKUs do not reach the database. */
export const maxSkuLength = 255;

const numeric = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/;
export const isNumericSequence = (sequence: string) => numeric.test(sequence);

/** Compares display sequences as numbers, then as text. Non-numbers sort last. */
export function compareSequence(a: string, b: string): number {
  const x = isNumericSequence(a) ? Number(a) : Number.POSITIVE_INFINITY;
  const y = isNumericSequence(b) ? Number(b) : Number.POSITIVE_INFINITY;
  if (x !== y) return x - y;
  return a < b ? -1 : a > b ? 1 : 0;
}
