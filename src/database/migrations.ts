import type { SQL } from "bun";
import { keptChanges } from "./change.ts";
import type { Database } from "./database.ts";
import { writing } from "./database.ts";
import type { Dialect } from "./dialect.ts";
import { fillVisibility } from "./product.ts";
import { fillWords } from "./search.ts";

/** One step of the schema: never edited once released, only followed by another. Its parts are statements, or what no statement can do. */
type Migration = (dialect: Dialect) => readonly (string | ((transaction: SQL) => Promise<void>))[];

const migrations: readonly Migration[] = [
  ({ counter, key, clustered }) => [
    `CREATE TABLE product (
      id BIGINT PRIMARY KEY,
      document TEXT NOT NULL,
      tag TEXT NOT NULL
    )`,
    `CREATE TABLE generation (
      id ${counter},
      brand ${key} NOT NULL,
      loaded_at TEXT NOT NULL
    )`,
    "CREATE INDEX generation_by_brand ON generation (brand, id)",
    `CREATE TABLE current_generation (
      brand ${key} PRIMARY KEY,
      generation INTEGER NOT NULL REFERENCES generation (id)
    )`,
    `CREATE TABLE personalization_line (
      generation INTEGER NOT NULL,
      sku_id ${key} NOT NULL,
      style_code ${key} NOT NULL,
      style_display_seq TEXT NOT NULL,
      style_sku_status TEXT NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (generation, sku_id, style_code)
    ) ${clustered}`,
    `CREATE TABLE personalization_style (
      generation INTEGER NOT NULL,
      style_code ${key} NOT NULL,
      line_status TEXT NOT NULL,
      line_display_seq ${key} NOT NULL,
      choice_type TEXT NOT NULL,
      instruct_text TEXT NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (generation, style_code, line_display_seq)
    ) ${clustered}`,
    `CREATE TABLE personalization_choice (
      generation INTEGER NOT NULL,
      choice_type ${key} NOT NULL,
      choice_status TEXT NOT NULL,
      choice_display_seq TEXT NOT NULL,
      choice_value ${key} NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (generation, choice_type, choice_value)
    ) ${clustered}`,
    `CREATE TABLE run (
      id ${counter},
      job TEXT NOT NULL,
      brand TEXT NOT NULL,
      started_at TEXT NOT NULL,
      finished_at TEXT,
      outcome TEXT,
      counts INTEGER NOT NULL DEFAULT 0,
      reason TEXT,
      report TEXT
    )`,
    "CREATE INDEX run_by_finish ON run (finished_at, id) WHERE finished_at IS NOT NULL",
    "CREATE INDEX run_by_job ON run (job, id)",
  ],
  ({ key }) => [
    // When the platform last changed it, as the platform says; empty when it came from elsewhere.
    "ALTER TABLE product ADD COLUMN updated_at TEXT NOT NULL DEFAULT ''",
    // When it was last known to be the platform's state; null when it is known not to be.
    "ALTER TABLE product ADD COLUMN checked_at TEXT",
    // What a comparison needs of every product, without its document.
    "CREATE INDEX product_state ON product (id, tag, updated_at, checked_at)",
    `CREATE TABLE mark (
      name ${key} PRIMARY KEY,
      value TEXT NOT NULL
    )`,
  ],
  ({ key, bytes }) => [
    // "loading", "complete", or "removed": on its way out.
    "ALTER TABLE generation ADD COLUMN state TEXT NOT NULL DEFAULT 'complete'",
    "ALTER TABLE generation ADD COLUMN row_count INTEGER NOT NULL DEFAULT 0",
    // The one that was current before it; null for the first, and for those loaded before this was kept.
    "ALTER TABLE generation ADD COLUMN previous INTEGER",
    // What it was loaded from, so that the same feed is known again: JSON.
    "ALTER TABLE generation ADD COLUMN feed TEXT",
    // Fingerprints of a generation's SKUs, styles and choices, for comparing it with the next.
    `CREATE TABLE generation_digest (
      generation INTEGER NOT NULL,
      list ${key} NOT NULL,
      part INTEGER NOT NULL,
      data ${bytes} NOT NULL,
      PRIMARY KEY (generation, list, part)
    )`,
  ],
  () => [
    // Null when it was not started by a schedule; beyond 1 the attempt is a retry.
    "ALTER TABLE run ADD COLUMN scheduled_at TEXT",
    "ALTER TABLE run ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE run ADD COLUMN lease_until TEXT NOT NULL DEFAULT ''",
    // The last lines that its process said.
    "ALTER TABLE run ADD COLUMN log TEXT",
    // There were no leases: what is unfinished by now was given up long ago, or belongs to a version that must not run beside this one.
    `UPDATE run SET finished_at = started_at, outcome = 'abandoned', reason = 'it never ended' WHERE finished_at IS NULL`,
    // A claim: only one can insert the instant of a schedule …
    "CREATE UNIQUE INDEX run_by_tick ON run (job, brand, scheduled_at, attempt) WHERE scheduled_at IS NOT NULL",
    // … and only one run of a job can be under way.
    "CREATE UNIQUE INDEX run_under_way ON run (job, brand) WHERE finished_at IS NULL",
    "DROP INDEX run_by_job",
    "CREATE INDEX run_by_job ON run (job, brand, id)",
    "CREATE INDEX run_by_success ON run (job, brand, id) WHERE outcome = 'succeeded'",
  ],
  ({ counter, changeTriggers }) => [
    // What changed, for those who keep finished answers; a "what" of null stands for everything.
    `CREATE TABLE change (
      id ${counter},
      noun TEXT NOT NULL,
      what TEXT
    )`,
    ...changeTriggers(keptChanges),
  ],
  ({ key, clustered, wordIndex }) => [
    // What a search goes by; made by `toWords`.
    "ALTER TABLE product ADD COLUMN words TEXT NOT NULL DEFAULT ''",
    fillWords,
    ...wordIndex,
    // When it became the current one; null where that was before this was kept.
    "ALTER TABLE current_generation ADD COLUMN since TEXT",
    // How many SKUs offer a style, and the first of them as JSON; and which styles use a choice group.
    `CREATE TABLE generation_style (
      generation INTEGER NOT NULL,
      style_code ${key} NOT NULL,
      skus INTEGER NOT NULL,
      examples TEXT NOT NULL,
      PRIMARY KEY (generation, style_code)
    ) ${clustered}`,
    "CREATE INDEX personalization_style_by_group ON personalization_style (generation, choice_type, style_code)",
    "CREATE INDEX run_by_failure ON run (job, brand, id) WHERE outcome = 'failed'",
    "CREATE INDEX run_by_abandonment ON run (job, brand, id) WHERE outcome = 'abandoned'",
  ],
  () => [
    // From when on shoppers may see it; null when they may not.
    "ALTER TABLE product ADD COLUMN visible_from TEXT",
    fillVisibility,
  ],
];

/** Brings the tables up to date; any number of replicas may call it at once. */
export async function migrate(database: Database): Promise<void> {
  if ((await appliedMigrations(database.sql)) === migrations.length) return;
  await writing(database, async (transaction) => {
    await transaction.unsafe(database.dialect.lockMigrations);
    await transaction.unsafe("CREATE TABLE IF NOT EXISTS migration (id INTEGER PRIMARY KEY)");
    const applied = await appliedMigrations(transaction);
    if (applied > migrations.length) {
      throw new Error(`it has ${applied} migrations and this version knows ${migrations.length}: use a newer version`);
    }
    for (const [index, migration] of migrations.entries()) {
      if (index < applied) continue;
      for (const part of migration(database.dialect)) {
        if (typeof part === "string") await transaction.unsafe(part);
        else await part(transaction);
      }
      await transaction`INSERT INTO migration (id) VALUES (${index + 1})`;
    }
  });
}

async function appliedMigrations(sql: SQL): Promise<number> {
  try {
    const [row] = await sql`SELECT max(id) AS applied FROM migration`;
    return row.applied ?? 0;
  } catch (error) {
    if (/no such table|does not exist/.test((error as Error).message)) return 0;
    throw error;
  }
}
