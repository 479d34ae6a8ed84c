import { ServiceError } from "../errors.ts";
import type { Queryable, Transaction } from "./database.ts";

/** Stored data that changed, so that caches drop the responses made from it. */
export type Change =
  /** The product's id, or `handle:` and a handle that may name another product now; undefined for all. */
  | { readonly noun: "product"; readonly key: string | undefined }
  /** SKUs, styles, and choice groups by fingerprint; undefined when unknown or too many. */
  | { readonly noun: "personalization"; readonly fingerprints: ReadonlySet<number> | undefined };

/** A change with its place in the order in which changes became visible. */
export type NumberedChange = Change & { readonly number: number };

/** How many changes a trigger keeps for replicas that have not read them yet. */
export const keptChanges = 100_000;

/** @returns the number of the newest change; 0 when there is none */
export async function findLastChange({ read }: Queryable): Promise<number> {
  const [row] = await read<{ last: number }>("SELECT coalesce(max(id), 0) AS last FROM change", []);
  return row?.last ?? 0;
}

/** How far the change log is, on the server that answered. */
export interface ChangePosition {
  /** The number of the newest change; 0 when there is none. */
  readonly last: number;
  /** Another one when a standby was promoted: some changes may be lost, and their numbers used again. */
  readonly history: string;
}

/** @throws StandbyError when the server is a standby, whose changes may be behind */
export async function findChangePosition({ read, engine }: Queryable): Promise<ChangePosition> {
  const [row] = await read<ChangePosition & { history: string | null }>(
    `SELECT coalesce(max(id), 0) AS last, ${engine.history} AS history FROM change`,
    [],
  );
  if (row === undefined || row.history === null) throw new StandbyError();
  return row;
}

/** The server follows another one, so it may be behind, and accepts no writes. */
export class StandbyError extends ServiceError {
  constructor() {
    super("unavailable", "DATABASE_URL leads to a standby; it must lead to the primary");
  }
}

/** Changes after one number and up to another, in the order in which they became visible. */
export async function listChanges({ read }: Queryable, after: number, upTo: number): Promise<NumberedChange[]> {
  type Row = { number: number; noun: Change["noun"]; scope: string | null };
  const rows = await read<Row>("SELECT id AS number, noun, scope FROM change WHERE id > $1 AND id <= $2 ORDER BY id", [
    after,
    upTo,
  ]);
  return rows.map(({ number, noun, scope }) =>
    noun === "product"
      ? { number, noun, key: scope ?? undefined }
      : { number, noun, fingerprints: scope === null ? undefined : new Set(parseFingerprints(scope)) },
  );
}

/**
 * Records that a brand's personalization changes. For products, triggers do that.
 * @param fingerprints of the data that changes; undefined when unknown
 */
export async function recordPersonalizationChange(
  { sql, engine }: Transaction,
  fingerprints: readonly number[] | undefined,
): Promise<void> {
  const scope = fingerprints === undefined ? null : formatFingerprints(fingerprints);
  // Changes must be numbered in the order in which their transactions commit.
  await engine.lock(sql, "changes");
  await sql`
    INSERT INTO change (noun, scope, recorded_at) VALUES ('personalization', ${scope}, ${sql.unsafe(engine.now)})`;
}

const formatFingerprints = (numbers: readonly number[]) =>
  Buffer.from(Float64Array.from(numbers).buffer).toString("base64");

const parseFingerprints = (text: string) => new Float64Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
