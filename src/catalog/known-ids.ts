import { findCursor, lockCursor, saveCursor } from "../database/cursor.ts";
import type { Queryable, Transaction } from "../database/database.ts";

/** The platform gives a new product a higher id than all others. */
interface KnownIds {
  /** All products up to this id are stored, except those in `except`. */
  readonly upTo: string;
  readonly except: readonly string[];
}

/** With more exceptions than this, the set is forgotten. */
const maxExceptions = 1000;

const nothing: KnownIds = { upTo: "0", except: [] };

export async function isKnownMissing(database: Queryable, id: bigint): Promise<boolean> {
  const { upTo, except } = await findKnownIds(database);
  if (id > BigInt(upTo) || except.includes(`${id}`)) return false;
  // A notification mentioned the product, but no read has stored it yet.
  const news = await database.read(
    "SELECT 1 FROM product_news WHERE id = $1 AND (gone_at IS NULL OR settles_at > gone_at)",
    [id],
  );
  return news.length === 0;
}

async function findKnownIds(database: Queryable): Promise<KnownIds> {
  return JSON.parse((await findCursor(database, "known-ids")) ?? "null") ?? nothing;
}

const lockKnownIds = async (transaction: Transaction) =>
  ((await lockCursor(transaction, "known-ids")) as KnownIds | null) ?? nothing;

const saveKnownIds = (database: Queryable, known: KnownIds) => saveCursor(database, "known-ids", JSON.stringify(known));

/** @param isComplete whether all products were compared, not only new ones */
export async function knowIdsUpTo(transaction: Transaction, id: bigint, isComplete: boolean): Promise<void> {
  const known = await lockKnownIds(transaction);
  if (!isComplete && known.upTo === nothing.upTo) return;
  if (id > BigInt(known.upTo)) await saveKnownIds(transaction, { ...known, upTo: `${id}` });
}

/** Records a product that the platform has, but that could not be stored. */
export async function exceptKnownId(transaction: Transaction, id: bigint): Promise<void> {
  const { upTo, except } = await lockKnownIds(transaction);
  if (except.includes(`${id}`)) return;
  const isTooMany = except.length >= maxExceptions;
  await saveKnownIds(transaction, isTooMany ? nothing : { upTo, except: [...except, `${id}`] });
}

/** Call it when products from another source were stored. */
export const forgetKnownIds = (database: Queryable) => saveKnownIds(database, nothing);
