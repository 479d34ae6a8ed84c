import type { SQL } from "bun";
import type { Database } from "./database.ts";

/** What finished answers no longer agree with. */
export type Change =
  | { readonly noun: "product"; readonly id: string }
  /** SKUs, styles and choice groups by their fingerprints; undefined when there are too many, or nobody knows which. */
  | { readonly noun: "personalization"; readonly fingerprints: ReadonlySet<number> | undefined };

/** How many changes are kept for those who have not looked yet. */
export const keptChanges = 100_000;

/** @returns the number of the newest change; 0 when there is none */
export async function findLastChange({ read }: Database): Promise<number> {
  const [row] = await read<{ last: number }>("SELECT coalesce(max(id), 0) AS last FROM change", []);
  return row?.last ?? 0;
}

/** The changes after one and up to another, in the order in which they became visible. */
export async function listChanges({ read }: Database, after: number, upTo: number): Promise<Change[]> {
  type Row = { noun: Change["noun"]; what: string | null };
  const rows = await read<Row>("SELECT noun, what FROM change WHERE id > $1 AND id <= $2 ORDER BY id", [after, upTo]);
  return rows.map(({ noun, what }) =>
    noun === "product"
      ? { noun, id: what ?? "" }
      : { noun, fingerprints: what === null ? undefined : new Set(parseFingerprints(what)) },
  );
}

/**
 * Records within its transaction that a brand's personalization changes. Products have triggers for that.
 * @param fingerprints of what changes; undefined when that is not known
 */
export async function recordPersonalizationChange(
  sql: SQL,
  { dialect }: Pick<Database, "dialect">,
  fingerprints: readonly number[] | undefined,
): Promise<void> {
  const what = fingerprints === undefined ? null : formatFingerprints(fingerprints);
  await sql.unsafe(dialect.lockChanges);
  await sql`INSERT INTO change (noun, what) VALUES ('personalization', ${what})`;
}

const formatFingerprints = (numbers: readonly number[]) =>
  Buffer.from(Float64Array.from(numbers).buffer).toString("base64");

const parseFingerprints = (text: string) => new Float64Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
