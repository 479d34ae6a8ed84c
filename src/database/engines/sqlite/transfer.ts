import { Database as File } from "bun:sqlite";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { SQL } from "bun";
import { progressTable, type Transfer } from "../transfer.ts";
import { isBusy } from "./errors.ts";
import { openFile, pathOf } from "./open.ts";

const stagingOf = (url: string) => `${pathOf(url)}.restore`;

const rowsPerBatch = 500;

/** Tables and virtual tables are created by migrations; the latter fill themselves. */
const ordinary = `type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'product_word%'
  AND name <> '${progressTable}'`;
const ofGeneration = "name GLOB 'generation_[0-9]*'";

const namesOf = async (sql: SQL, condition: string): Promise<string[]> => {
  const rows = await sql.unsafe<{ name: string }[]>(`SELECT name FROM ${condition} ORDER BY name`);
  return rows.map(({ name }) => name);
};

export const transfer: Transfer = {
  columnsQuery: (table) => `SELECT name, lower(type) AS type FROM pragma_table_info('${table}') ORDER BY cid`,
  counterQuery: (table) => `SELECT seq AS last FROM sqlite_sequence WHERE name = '${table}'`,
  setCounters: async (sql, counters) => {
    for (const [table, last] of Object.entries(counters)) {
      await sql`DELETE FROM sqlite_sequence WHERE name = ${table}`;
      await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${table}, ${last})`;
    }
  },

  openSnapshot: async (url, isStaging) => {
    const file = new File(isStaging ? stagingOf(url) : pathOf(url), { readonly: true });
    file.run("PRAGMA busy_timeout = 10000");
    // The first statement that reads a table fixes the moment.
    file.run("BEGIN");
    return {
      all: async <Row>(query: string) => file.query(query).all() as Row[],
      batches: async function* <Row>(query: string) {
        let batch: Row[] = [];
        for (const row of file.prepare(query).iterate()) {
          batch.push(row as Row);
          if (batch.length < rowsPerBatch) continue;
          yield batch;
          batch = [];
        }
        if (batch.length > 0) yield batch;
      },
      close: async () => file.close(),
    };
  },

  lockStaging: async (url) => {
    const path = `${stagingOf(url)}-lock`;
    await mkdir(dirname(path), { recursive: true });
    // A lock of the file, which ends with the process.
    const file = new File(path);
    try {
      file.run("BEGIN EXCLUSIVE");
    } catch (error) {
      file.close();
      if (isBusy(error)) return undefined;
      throw error;
    }
    return async () => {
      await rm(path, { force: true });
      file.close();
    };
  },
  openStaging: (url) => openFile(stagingOf(url), "job"),
  removeStaging: async (url) => {
    for (const end of ["", "-wal", "-shm", "-journal"]) await rm(`${stagingOf(url)}${end}`, { force: true });
  },
  withStaging: async (sql, url, work) => {
    if (!existsSync(stagingOf(url))) throw new Error(`${stagingOf(url)} is missing`);
    await sql`ATTACH ${stagingOf(url)} AS staging`;
    try {
      await work();
    } finally {
      await sql`DETACH staging`;
    }
  },
  // A transaction that writes is the only one.
  lockStore: async () => {},
  moveTables: async (sql) => {
    await sql`PRAGMA defer_foreign_keys = ON`;
    for (const table of await namesOf(sql, `main.sqlite_master WHERE ${ordinary} AND ${ofGeneration}`)) {
      await sql.unsafe(`DROP TABLE main.${table}`);
    }
    // Their triggers fill the virtual table, and the change log, which is written anew.
    for (const table of await namesOf(sql, `staging.sqlite_master WHERE ${ordinary} AND NOT ${ofGeneration}`)) {
      const columns = (await namesOf(sql, `pragma_table_info('${table}')`)).join(", ");
      await sql.unsafe(`DELETE FROM main.${table}`);
      await sql.unsafe(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM staging.${table}`);
    }
    for (const table of await namesOf(sql, `staging.sqlite_master WHERE ${ordinary} AND ${ofGeneration}`)) {
      const definitions = await sql<{ sql: string }[]>`
        SELECT sql FROM staging.sqlite_master WHERE tbl_name = ${table} AND sql IS NOT NULL
        ORDER BY type = 'table' DESC`;
      const [definition, ...indexes] = definitions.map((row) => row.sql);
      await sql.unsafe(definition ?? "");
      await sql.unsafe(`INSERT INTO main.${table} SELECT * FROM staging.${table}`);
      for (const index of indexes) await sql.unsafe(index);
    }
  },
};
