import { join } from "node:path";
import { SQL } from "bun";
import { type ListName, writeFeed } from "./feed.ts";
import { createDatabase } from "./postgres.ts";
import { runCommand } from "./service.ts";

/**
 * The same data for all contenders: in the service's stores, and in plain tables for the servers
 * written by hand.
 */
export interface Stores {
  readonly skus: number;
  readonly sqlite: string;
  readonly postgres: string;
  readonly plain: string;
}

export const shop = "bench.example";

/** Choices per group that give responses of about 3.2 KB. */
const choices = 3;

/**
 * @param server URL of a PostgreSQL server, in which the databases are created
 * @param products path of an NDJSON file
 */
export async function createStores(server: string, folder: string, skus: number, products: string): Promise<Stores> {
  const stores = {
    skus,
    sqlite: `sqlite:${join(folder, `${skus}.sqlite`)}`,
    postgres: await createDatabase(server, `service_${skus}`),
    plain: await createDatabase(server, `plain_${skus}`),
  };
  const feed = await writeFeed(join(folder, `feed-${skus}`), skus, { status: "A", choicesPerGroup: choices });
  for (const url of [stores.sqlite, stores.postgres]) {
    await runCommand(["import", "personalization", feed], { DATABASE_URL: url });
    await runCommand(["import", "products", products], { DATABASE_URL: url });
    await writeRuns(url);
  }
  await loadPlainTables(stores, feed);
  return stores;
}

/** Finished runs, the same in every store; the runs of the imports differ. */
const runs = Array.from({ length: 20 }, (_, index) => {
  const instant = new Date(Date.UTC(2026, 0, 1, index)).toISOString();
  return { brand: "bench", counts: index * 37, instant };
});

async function writeRuns(url: string): Promise<void> {
  await using sql = new SQL(url, { max: 1 });
  await sql`DELETE FROM run`;
  for (const { brand, counts, instant } of runs) {
    await sql`
      INSERT INTO run (job, brand, started_at, finished_at, outcome, counts)
      VALUES ('catalog-import', ${brand}, ${instant}, ${instant}, 'succeeded', ${counts})`;
  }
}

const plainTables = `
  CREATE TABLE pzlines (sku_id TEXT, style_code TEXT, style_display_seq TEXT, style_sku_status TEXT);
  CREATE TABLE pzstyles (style_code TEXT, line_status TEXT, line_display_seq TEXT, choice_type TEXT, instruct_text TEXT);
  CREATE TABLE pzchoices (choice_type TEXT, choice_status TEXT, choice_display_seq TEXT, choice_value TEXT);
  CREATE TABLE products (id BIGINT, document JSON);
  CREATE TABLE histories (id BIGINT GENERATED ALWAYS AS IDENTITY, brand TEXT, counts INTEGER, created_at TIMESTAMPTZ)`;

const plainIndexes = `
  ALTER TABLE pzlines ADD PRIMARY KEY (sku_id, style_code);
  ALTER TABLE pzstyles ADD PRIMARY KEY (style_code, line_display_seq);
  ALTER TABLE pzchoices ADD PRIMARY KEY (choice_type, choice_value);
  ALTER TABLE products ADD PRIMARY KEY (id);
  ALTER TABLE histories ADD PRIMARY KEY (id);
  CREATE INDEX histories_by_time ON histories (created_at, id)`;

/** The documents are copied from the service's store, so that all contenders have the same text. */
async function loadPlainTables({ plain, postgres }: Stores, feed: string): Promise<void> {
  await using sql = new SQL(plain, { max: 1 });
  await sql.unsafe(plainTables);
  for (const list of ["pzlines", "pzstyles", "pzchoices"] satisfies ListName[]) {
    const copy = sql.unsafe(`COPY ${list} FROM STDIN (FORMAT csv, HEADER)`);
    await Bun.file(join(feed, `${list}.csv`))
      .stream()
      .pipeTo(copy.writable());
  }
  await using own = new SQL(postgres, { max: 1 });
  const writer = sql.unsafe("COPY products FROM STDIN").writable().getWriter();
  const documents = await own<{ id: string; document: string }[]>`SELECT CAST(id AS TEXT) AS id, document FROM product`;
  // The backslash is the only special character of this format that occurs in JSON text.
  for (const { id, document } of documents) await writer.write(`${id}\t${document.replaceAll("\\", "\\\\")}\n`);
  await writer.close();
  for (const { brand, counts, instant } of runs) {
    await sql`INSERT INTO histories (brand, counts, created_at) VALUES (${brand}, ${counts}, ${instant})`;
  }
  await sql.unsafe(plainIndexes);
  await sql.unsafe("VACUUM ANALYZE");
}
