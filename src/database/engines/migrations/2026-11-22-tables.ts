import type { ColumnTypes } from "../engine.ts";

/** The tables and indexes that the engines have in common. */
export const createTables = ({ counter, key }: ColumnTypes): readonly string[] => [
  // updated_at: the platform's timestamp of its last change; empty when another source provided it.
  // checked_at: when it last matched the platform; null when it is known to differ.
  // words: what search matches. visible_from: null while shoppers may not see it.
  `CREATE TABLE product (
    id BIGINT PRIMARY KEY,
    document TEXT NOT NULL,
    tag TEXT NOT NULL,
    updated_at TEXT NOT NULL DEFAULT '',
    checked_at TEXT,
    words TEXT NOT NULL DEFAULT '',
    visible_from TEXT
  )`,
  // A comparison of all products reads this index and no documents.
  "CREATE INDEX product_state ON product (id, tag, updated_at, checked_at)",
  `CREATE TABLE cursor (
    name ${key} PRIMARY KEY,
    value TEXT NOT NULL
  )`,
  // state: "loading", "complete", or "removed" until its tables are dropped.
  // previous: the generation that was current before. feed: its files as JSON, to recognize them.
  `CREATE TABLE generation (
    id ${counter},
    brand ${key} NOT NULL,
    loaded_at TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'complete',
    row_count INTEGER NOT NULL DEFAULT 0,
    skus INTEGER NOT NULL DEFAULT 0,
    styles INTEGER NOT NULL DEFAULT 0,
    choices INTEGER NOT NULL DEFAULT 0,
    previous INTEGER,
    feed TEXT
  )`,
  "CREATE INDEX generation_by_brand ON generation (brand, id)",
  `CREATE TABLE current_generation (
    brand ${key} PRIMARY KEY,
    generation INTEGER NOT NULL REFERENCES generation (id),
    since TEXT
  )`,
  // One row, whose version changes with `current_generation`.
  "CREATE TABLE generation_list (version TEXT NOT NULL)",
  "INSERT INTO generation_list (version) VALUES ('')",
  // scheduled_at: null when no schedule started it. attempt: above 1 it is a retry.
  // lease_seconds: how long its lease is when it is renewed. log: the last lines that its process
  // printed.
  `CREATE TABLE run (
    id ${counter},
    job TEXT NOT NULL,
    brand TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    outcome TEXT,
    counts INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    report TEXT,
    scheduled_at TEXT,
    attempt INTEGER NOT NULL DEFAULT 1,
    lease_until TEXT NOT NULL DEFAULT '',
    lease_seconds INTEGER,
    log TEXT
  )`,
  "CREATE INDEX run_by_finish ON run (finished_at, id) WHERE finished_at IS NOT NULL",
  // A claim is an insertion, so that one replica gets a scheduled time and a job has one run at
  // once.
  "CREATE UNIQUE INDEX run_by_tick ON run (job, brand, scheduled_at, attempt) WHERE scheduled_at IS NOT NULL",
  "CREATE UNIQUE INDEX run_under_way ON run (job, brand) WHERE finished_at IS NULL",
  "CREATE INDEX run_by_job ON run (job, brand, id)",
  "CREATE INDEX run_by_success ON run (job, brand, id) WHERE outcome = 'succeeded'",
  "CREATE INDEX run_by_failure ON run (job, brand, id) WHERE outcome = 'failed'",
  "CREATE INDEX run_by_abandonment ON run (job, brand, id) WHERE outcome = 'abandoned'",
  // What caches must drop. scope: a product's id, or fingerprints in base64; null for everything.
  `CREATE TABLE change (
    id ${counter},
    noun TEXT NOT NULL,
    scope TEXT
  )`,
];
