import { inBatches } from "../../base/batches.ts";
import { saveCursor } from "../../database/cursor.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { noteDelivery, type ProductNews } from "../product.ts";

export interface DueProduct {
  readonly id: bigint;
  readonly deliveries: number;
  /** Identifies this stay in the queue: a product that is queued again is due at another time. */
  readonly dueAt: string;
  /** Consecutive reads that left it queued; a delivery after a successful read resets it. */
  readonly attempts: number;
  /** Whether its last delivery is old enough that a read shows the change. */
  readonly canSettle: boolean;
}

export interface QueueState {
  readonly products: number;
  /** Age of the oldest unread delivery; 0 if there is none. */
  readonly oldestS: number;
}

/** One engine allows 32,766 values per statement. */
const rowsPerStatement = 1000;

/**
 * Queues a read of each product, in one transaction. All deliveries of a queued product share one
 * read, which is due no later than for the first.
 * @param delayS how long to wait for more deliveries of the same product
 * @param topics topics whose last delivery is recorded
 */
export function queueReads(
  database: Database,
  news: readonly ProductNews[],
  delayS: number,
  topics: ReadonlySet<string> = new Set(),
): Promise<void> {
  const counts = new Map<bigint, number>();
  for (const { id } of news) counts.set(id, (counts.get(id) ?? 0) + 1);
  // In a fixed order, so that two processes do not deadlock on each other's rows.
  const ids = [...counts.keys()].toSorted((a, b) => (a < b ? -1 : 1));
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    const [times] = await sql<{ now: string; due: string }[]>`
      SELECT ${sql.unsafe(engine.now)} AS now, ${sql.unsafe(engine.later(delayS))} AS due`;
    for (const batch of inBatches(ids, rowsPerStatement)) {
      const rows = batch.map((product) => ({
        product,
        deliveries: counts.get(product) ?? 0,
        unread_since: times?.now ?? "",
        due_at: times?.due ?? "",
      }));
      await sql`
        INSERT INTO push_queue ${sql(rows)}
        ON CONFLICT (product) DO UPDATE SET
          deliveries = push_queue.deliveries + excluded.deliveries,
          unread_since = coalesce(push_queue.unread_since, excluded.unread_since),
          attempts = CASE WHEN push_queue.unread_since IS NULL THEN 0 ELSE push_queue.attempts END,
          due_at = CASE
            WHEN push_queue.due_at < excluded.due_at THEN push_queue.due_at
            WHEN push_queue.earliest_at > excluded.due_at THEN push_queue.earliest_at
            ELSE excluded.due_at END`;
    }
    await noteDelivery(transaction, news);
    // Last, and in a fixed order, so that two processes block each other only briefly.
    for (const topic of [...topics].toSorted()) await saveCursor(transaction, `delivered ${topic}`, times?.now ?? "");
  });
}

/** The longest overdue come first. */
export async function listDue({ read, engine }: Queryable, limit: number): Promise<DueProduct[]> {
  type Row = { id: string; deliveries: number; dueAt: string; attempts: number; isRecent: number };
  const rows = await read<Row>(
    `SELECT CAST(product AS TEXT) AS id, deliveries, due_at AS "dueAt", attempts,
      CASE WHEN product_news.settles_at > ${engine.now} THEN 1 ELSE 0 END AS "isRecent"
    FROM push_queue LEFT JOIN product_news ON product_news.id = product
    WHERE due_at <= ${engine.now} ORDER BY due_at LIMIT $1`,
    [limit],
  );
  return rows.map(({ isRecent, ...row }) => ({ ...row, id: BigInt(row.id), canSettle: isRecent === 0 }));
}

export type ReadOutcome =
  /** Later reads cannot show more, so it leaves the queue. */
  | { readonly kind: "settled" }
  | { readonly kind: "unsettled"; readonly againInS: number }
  | { readonly kind: "failed"; readonly againInS: number };

/**
 * Takes a product off the queue or makes it due again. If another delivery came during the read, it
 * stays queued, even if another process took it off and it was queued again.
 * @param earliestInS how long further deliveries cannot make it due
 */
export function finishRead(
  database: Database,
  { id, deliveries, dueAt }: DueProduct,
  outcome: ReadOutcome,
  earliestInS: number,
): Promise<void> {
  return database.inTransaction(async ({ sql, engine }) => {
    const isSettled = outcome.kind === "settled";
    if (isSettled) {
      await sql`
        DELETE FROM push_queue WHERE product = ${id} AND deliveries = ${deliveries} AND due_at = ${dueAt}`;
    }
    const earliest = sql.unsafe(engine.later(earliestInS));
    const again = isSettled ? earliest : sql.unsafe(engine.later(outcome.againInS));
    const now = sql.unsafe(engine.now);
    const isFailed = outcome.kind === "failed" ? 1 : 0;
    // Another delivery makes it due sooner than waiting to settle does.
    await sql`
      UPDATE push_queue SET
        unread_since = CASE WHEN ${isFailed} = 1 THEN unread_since WHEN deliveries = ${deliveries} THEN NULL ELSE ${now} END,
        due_at = CASE WHEN deliveries = ${deliveries} OR ${isFailed} = 1 THEN ${again} ELSE ${earliest} END,
        earliest_at = CASE WHEN ${isFailed} = 1 THEN ${again} ELSE ${earliest} END,
        attempts = CASE WHEN deliveries = ${deliveries} OR ${isFailed} = 1 THEN attempts + 1 ELSE 0 END
      WHERE product = ${id}`;
  });
}

export async function readQueueState({ sql, engine }: Queryable): Promise<QueueState> {
  const [row] = await sql<{ products: number; oldest: string | null; now: string }[]>`
    SELECT CAST(count(*) AS INTEGER) AS products, min(unread_since) AS oldest, ${sql.unsafe(engine.now)} AS now
    FROM push_queue`;
  if (row === undefined) return { products: 0, oldestS: 0 };
  const oldestS = row.oldest === null ? 0 : Math.max(0, Date.parse(row.now) - Date.parse(row.oldest)) / 1000;
  return { products: row.products, oldestS };
}
