import { randomUUID } from "node:crypto";
import { ServiceError } from "../../errors.ts";
import { keptChanges, recordPersonalizationChange } from "../change.ts";
import type { Database, Queryable, Transaction } from "../database.ts";
import type { LoadOptions } from "./load-store.ts";
import { type Counters, countedTables, keptTables } from "./tables.ts";

/** How long to wait for runs in progress to end. */
const patienceMs = 600_000;
const pauseMs = 1000;

/** Rolls back, to try again later. */
class RunInProgress extends Error {}

/**
 * Puts the store in the staging area in the place of the store. Replicas go on meanwhile, and drop
 * what they have cached.
 * @throws ServiceError `unavailable` when a run does not end; nothing was changed
 */
export async function publishStore(
  target: Database,
  url: string,
  counters: Counters,
  { isReplacing, onWait, signal }: Pick<LoadOptions, "isReplacing" | "onWait" | "signal">,
): Promise<void> {
  const { engine, name } = target;
  const { transfer } = engine;
  let waitsFor: string | undefined;
  for (const startedAt = performance.now(); ; await Bun.sleep(pauseMs)) {
    signal.throwIfAborted();
    try {
      // Requests wait while the store is locked, so it is not locked in vain.
      await requireNoRun(target);
      const publish = () =>
        target.inTransaction(async (transaction) => {
          await engine.withoutTimeouts(transaction.sql);
          await transfer.lockStore(transaction.sql);
          await requireNoRun(transaction);
          if (!isReplacing) await requireEmpty(transaction, name);
          await replaceTables(transaction, counters);
        });
      return await transfer.withStaging(target.sql, url, publish);
    } catch (error) {
      if (!(error instanceof RunInProgress)) throw error;
      if (performance.now() - startedAt > patienceMs) throw new ServiceError("unavailable", error.message);
      if (error.message !== waitsFor) onWait(error.message);
      waitsFor = error.message;
    }
  }
}

/** All requests wait meanwhile, so it sends few statements. */
async function replaceTables(transaction: Transaction, counters: Counters): Promise<void> {
  const { sql, engine } = transaction;
  const { moveTables, setCounters } = engine.transfer;
  const before = await readCounters(transaction);
  await moveTables(sql);
  const moved = await readCounters(transaction);
  // Processes that still know the former store must not take its ids for others.
  const lastOf = (table: (typeof countedTables)[number]) =>
    Math.max(before[table] ?? 0, moved[table] ?? 0, counters[table] ?? 0);
  const last = Object.fromEntries(countedTables.map((table) => [table, lastOf(table)]));
  await sql.unsafe("DELETE FROM change");
  // A replica that misses so many changes drops everything, whichever store it knew.
  await setCounters(sql, { ...last, change: lastOf("change") + keptChanges });
  await recordPersonalizationChange(transaction, undefined);
  await sql`UPDATE generation_list SET version = ${randomUUID()}`;
}

/** @throws ServiceError `unavailable` when the store holds data */
export async function requireEmpty({ sql }: Queryable, store: string): Promise<void> {
  for (const { name } of keptTables) {
    if ((await sql.unsafe(`SELECT 1 FROM ${name} LIMIT 1`)).length === 0) continue;
    throw new ServiceError("unavailable", `${store} holds data (${name}); to replace all of it, use --replace`);
  }
}

async function requireNoRun({ sql, engine }: Queryable): Promise<void> {
  const [run] = await sql.unsafe<{ id: number; job: string; brand: string }[]>(
    `SELECT id, job, brand FROM run WHERE finished_at IS NULL AND lease_until >= ${engine.now} ORDER BY id LIMIT 1`,
  );
  if (run === undefined) return;
  throw new RunInProgress(`run ${run.id} (${run.job} for ${run.brand}) is in progress in the store to replace`);
}

async function readCounters({ sql, engine }: Queryable): Promise<Counters> {
  const columns = countedTables.map((table) => `(${engine.transfer.counterQuery(table)}) AS ${table}`);
  const [row] = await sql.unsafe<Record<string, number | null>[]>(`SELECT ${columns.join(", ")}`);
  return Object.fromEntries(countedTables.map((table) => [table, row?.[table] ?? 0]));
}
