import { ServiceError } from "../base/errors.ts";
import type { Queryable, Transaction } from "./database.ts";

/** Stored data that changed, so that caches drop the responses made from it. */
export type Change =
  /** The product's id, or `handle:` and a handle that may name another product now; undefined for all. */
  | { readonly noun: "product"; readonly key: string | undefined }
  /** SKUs, styles, and choice groups by fingerprint; undefined when unknown or too many. */
  | { readonly noun: "personalization"; readonly fingerprints: ReadonlySet<number> | undefined };

export type NumberedChange = Change & { readonly number: number };

/** Minimum number of changes that the triggers keep, for replicas that have not read them yet. */
export const keptChanges = 100_000;

/** @returns seconds since the first change after a number was recorded; 0 if there is none */
export async function findOldestChangeS({ read, engine }: Queryable, after: number): Promise<number> {
  const [oldest] = await read<{ at: string; now: string }>(
    `SELECT recorded_at AS at, ${engine.now} AS now FROM change WHERE id > $1 ORDER BY id LIMIT 1`,
    [after],
  );
  return oldest === undefined ? 0 : Math.max(0, Date.parse(oldest.now) - Date.parse(oldest.at)) / 1000;
}

/** The server follows another one, so it may be behind, and accepts no writes. */
export class StandbyError extends ServiceError {
  /** @param setting name of the setting with the URL */
  constructor(setting = "DATABASE_URL") {
    super("unavailable", `${setting} leads to a standby; it must lead to the primary`);
  }
}

/** @throws StandbyError when the server is a standby */
export async function requirePrimary({ sql, engine }: Queryable, setting: string): Promise<void> {
  const [row] = await sql.unsafe<{ history: string | null }[]>(`SELECT ${engine.history} AS history`);
  if (row?.history === null) throw new StandbyError(setting);
}

/** In the order in which they became visible. */
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
 * For products, triggers do that.
 * @param fingerprints of the data that changes; undefined when unknown
 */
export async function recordPersonalizationChange(
  transaction: Transaction,
  fingerprints: readonly number[] | undefined,
): Promise<void> {
  const scope = fingerprints === undefined ? null : formatFingerprints(fingerprints);
  // Changes must be numbered in the order in which their transactions commit.
  await transaction.lock("changes");
  await transaction.sql`INSERT INTO change (noun, scope) VALUES ('personalization', ${scope})`;
}

const formatFingerprints = (numbers: readonly number[]) =>
  Buffer.from(Float64Array.from(numbers).buffer).toString("base64");

const parseFingerprints = (text: string) => new Float64Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
