import packageJson from "../../../package.json" with { type: "json" };
import { ServiceError } from "../../errors.ts";
import { Database } from "../database.ts";
import { requireFreeSpace } from "../disk.ts";
import type { Engine } from "../engines/engine.ts";
import { closeDatabase, explainStoreError, openDatabase } from "../index.ts";
import { listApplied, migrate } from "../migrate.ts";
import { publishStore, requireEmpty } from "./publish-store.ts";
import { readStore } from "./read-store.ts";
import { StagingLoader } from "./staging-loader.ts";
import { type Chunk, RowCounter, type StoreStream, type Totals } from "./stream.ts";

export interface LoadOptions {
  /** Whether the store may hold data, which is lost. */
  readonly isReplacing: boolean;
  /** Whether to use the generations that an interrupted attempt has loaded, and to keep them. */
  readonly isResuming: boolean;
  /** Bytes that an embedded store's disk must have free. */
  readonly requiredBytes: number;
  readonly onChunk: (chunk: Chunk) => void;
  /** Called when the load has to wait for a run, with a sentence. */
  readonly onWait: (sentence: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Builds a store beside the one at the URL, compares it with what came, and puts it in the place of
 * that one in one transaction.
 * @returns the rows by table
 * @throws ServiceError when nothing was changed
 */
export async function loadStore(stream: StoreStream, url: string, options: LoadOptions): Promise<Totals> {
  const target = await openDatabase(url, "job");
  const { engine, name } = target;
  try {
    const unlock = await engine.transfer.lockStaging(url);
    if (unlock === undefined) {
      throw new ServiceError("unavailable", `another restore of ${name}, or copy to it, is in progress`);
    }
    try {
      await requireReplaceable(target, options);
      const totals = await buildStore(stream, target, url, options);
      await publishStore(target, url, stream.header.counters, options);
      await engine.transfer.removeStaging(url);
      // Replicas that read the log keep it for a while.
      await engine.truncateLog(target.sql).catch(() => {});
      return totals;
    } catch (error) {
      if (!options.isResuming) await engine.transfer.removeStaging(url);
      throw error;
    } finally {
      await unlock();
    }
  } catch (error) {
    throw explainStoreError(target, error);
  } finally {
    await closeDatabase(target);
  }
}

/** @throws ServiceError when migrations made the tables that this program does not know */
export function requireKnownMigrations({ migrations }: Engine, names: readonly string[], what: string): void {
  const unknown = names.find((each) => !migrations.some(({ name }) => name === each));
  if (unknown === undefined) return;
  throw new ServiceError(
    "invalid_input",
    `${what} (migration ${unknown}), and this is version ${packageJson.version}; use the newer one`,
  );
}

async function requireReplaceable(target: Database, { isReplacing, requiredBytes }: LoadOptions): Promise<void> {
  const { name } = target;
  const applied = (await listApplied(target)) ?? [];
  requireKnownMigrations(target.engine, applied, `a newer version has upgraded ${name}`);
  if (!isReplacing) await requireEmpty(target, name);
  await requireFreeSpace(
    target,
    requiredBytes,
    (freeMb, requiredMb) =>
      `the disk of ${name} has ${freeMb} MB left, and this needs up to ${requiredMb} MB for a while; free some space there`,
  );
}

async function buildStore(stream: StoreStream, target: Database, url: string, options: LoadOptions): Promise<Totals> {
  const { engine, name } = target;
  const { transfer } = engine;
  const open = async () => new Database(engine, name, await transfer.openStaging(url));
  if (!options.isResuming) await transfer.removeStaging(url);
  let staging = await open();
  try {
    const { migrations } = stream.header;
    const applied = await listApplied(staging);
    if (applied !== undefined && !Bun.deepEquals(applied.toSorted(), [...migrations].toSorted())) {
      await closeDatabase(staging);
      await transfer.removeStaging(url);
      staging = await open();
    }
    await migrate(staging, migrations);
    const loader = new StagingLoader(staging, stream.header);
    await loader.begin();
    for await (const chunk of stream.chunks((generation) => loader.isWanted(generation))) {
      options.signal.throwIfAborted();
      await loader.load(chunk);
      options.onChunk(chunk);
    }
    // So that the snapshot of a copy ends.
    await stream.close();
    const expected = await loader.finish();
    await compare(url, expected, options.signal);
    await migrate(staging);
    return expected;
  } finally {
    await closeDatabase(staging);
  }
}

/** Reads the store that was built, and compares every row. */
async function compare(url: string, expected: Totals, signal: AbortSignal): Promise<void> {
  const built = await readStore(url, true);
  try {
    const counter = new RowCounter();
    for await (const chunk of built.chunks()) {
      signal.throwIfAborted();
      counter.add(chunk);
    }
    const found = counter.totals();
    for (const table of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      if (Bun.deepEquals(expected[table], found[table])) continue;
      const rows = [expected[table]?.rows ?? 0, found[table]?.rows ?? 0];
      throw new Error(`${table} differs from what was read: ${rows.join(" rows were read, and now there are ")}`);
    }
  } finally {
    await built.close();
  }
}
