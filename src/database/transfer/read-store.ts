import { setImmediate } from "node:timers/promises";
import packageJson from "../../../package.json" with { type: "json" };
import { hideCredentials } from "../../credentials.ts";
import { ServiceError } from "../../errors.ts";
import type { Engine } from "../engines/engine.ts";
import { engineOf } from "../engines/index.ts";
import type { Snapshot } from "../engines/transfer.ts";
import {
  type Chunk,
  type Column,
  encodeRow,
  expressionOf,
  type StoreStream,
  type StreamedGeneration,
} from "./stream.ts";
import { type Counters, countedTables, generationTables, type KeptTable, keptTables } from "./tables.ts";

/** Characters of a chunk, about. */
const chunkLength = 2 ** 18;

/**
 * Opens the content of a store as of one moment, without changing anything in it.
 * @param isStaging whether to read what is built beside the store
 * @throws ServiceError `unavailable` when it cannot be read, or another version has to read it
 */
export async function readStore(url: string, isStaging = false): Promise<StoreStream> {
  const engine = engineOf(url);
  let snapshot: Snapshot | undefined;
  try {
    snapshot = await engine.transfer.openSnapshot(url, isStaging);
    const stream = await toStream(engine, snapshot);
    return { ...stream, chunks: (isWanted) => explainFailure(stream.chunks(isWanted), url) };
  } catch (cause) {
    await snapshot?.close();
    throw explain(cause, url);
  }
}

/** The store may also fail later, for example when its server stops. */
async function* explainFailure(chunks: AsyncGenerator<Chunk>, url: string): AsyncGenerator<Chunk> {
  try {
    yield* chunks;
  } catch (cause) {
    throw explain(cause, url);
  }
}

function explain(cause: unknown, url: string): ServiceError {
  if (cause instanceof ServiceError) return cause;
  const reason = `cannot read ${hideCredentials(url)}: ${(cause as Error).message}`;
  return new ServiceError("unavailable", reason, { cause });
}

async function toStream(engine: Engine, snapshot: Snapshot): Promise<StoreStream> {
  const migrations = await listMigrations(engine, snapshot);
  const [clock] = await snapshot.all<{ now: string }>(`SELECT ${engine.now} AS now`);
  const counters: Record<string, number> = {};
  for (const table of countedTables) {
    if ((await columnsOf(engine, snapshot, table)).length === 0) continue;
    const [counter] = await snapshot.all<{ last: number }>(engine.transfer.counterQuery(table));
    counters[table] = counter?.last ?? 0;
  }
  const generations = await snapshot.all<StreamedGeneration>(
    `SELECT id, brand, loaded_at AS "loadedAt" FROM generation WHERE state = 'complete' ORDER BY id`,
  );
  const header = {
    version: packageJson.version,
    takenAt: clock?.now ?? "",
    migrations,
    counters: counters as Counters,
    generations: [...generations],
  };
  return {
    header,
    chunks: async function* (isWanted = () => true) {
      for (const generation of generations.filter(isWanted)) {
        for (const table of generationTables(generation.id)) yield* readTable(engine, snapshot, table);
      }
      for (const table of keptTables) yield* readTable(engine, snapshot, table);
    },
    close: snapshot.close,
  };
}

async function listMigrations({ migrations, transfer }: Engine, snapshot: Snapshot): Promise<string[]> {
  if ((await snapshot.all(transfer.columnsQuery("schema_migration"))).length === 0) {
    throw new ServiceError("unavailable", "the store is empty, or a version before the first release made it");
  }
  const rows = await snapshot.all<{ name: string }>("SELECT name FROM schema_migration ORDER BY name");
  const names = rows.map(({ name }) => name);
  const unknown = names.find((name) => !migrations.some((migration) => migration.name === name));
  if (unknown === undefined) return names;
  throw new ServiceError(
    "unavailable",
    `a newer version has upgraded the store (migration ${unknown}), and this is version ${packageJson.version}; use the newer one`,
  );
}

/** Names of the types, by engine. */
const typeNames: Readonly<Record<string, Column["type"]>> = {
  integer: "integer",
  bigint: "long",
  text: "text",
  blob: "bytes",
  bytea: "bytes",
};

async function columnsOf({ transfer }: Engine, snapshot: Snapshot, table: string): Promise<Column[]> {
  const rows = await snapshot.all<{ name: string; type: string }>(transfer.columnsQuery(table));
  return rows.map(({ name, type }) => {
    const known = typeNames[type];
    if (known === undefined) throw new Error(`${table}.${name} has an unknown type: ${type}`);
    return { name, type: known };
  });
}

async function* readTable(engine: Engine, snapshot: Snapshot, { name, key, only }: KeptTable): AsyncGenerator<Chunk> {
  const columns = await columnsOf(engine, snapshot, name);
  // A migration that this store has not had yet adds the table.
  if (columns.length === 0) return;
  const condition = only === undefined ? "" : `WHERE ${only}`;
  const query = `SELECT ${columns.map(expressionOf).join(", ")} FROM ${name} ${condition} ORDER BY ${name}.${key}`;
  let rows = 0;
  let text = "";
  for await (const batch of snapshot.batches<Record<string, unknown>>(query)) {
    for (const row of batch) {
      text += encodeRow(columns, row);
      rows++;
      if (text.length < chunkLength) continue;
      // An embedded store never waits, and signals arrive only between turns of the event loop.
      await setImmediate();
      yield { table: name, columns, rows, text };
      rows = 0;
      text = "";
    }
  }
  if (rows > 0) yield { table: name, columns, rows, text };
}
