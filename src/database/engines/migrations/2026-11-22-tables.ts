/** Column types and options whose names differ between engines. */
export interface ColumnTypes {
  /** A key that the database counts up. */
  readonly counter: string;
  /** Text that is compared byte by byte. */
  readonly key: string;
  readonly bytes: string;
  /** Table option that stores rows in the order of the primary key. */
  readonly clustered: string;
}

/** The tables and indexes that the engines have in common. */
export const createTables = ({ counter, key, bytes, clustered }: ColumnTypes): readonly string[] => [
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
  // state: "loading", "complete", or "removed" until its rows are deleted.
  // previous: the generation that was current before. feed: its files as JSON, to recognize them.
  `CREATE TABLE generation (
    id ${counter},
    brand ${key} NOT NULL,
    loaded_at TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'complete',
    row_count INTEGER NOT NULL DEFAULT 0,
    previous INTEGER,
    feed TEXT
  )`,
  "CREATE INDEX generation_by_brand ON generation (brand, id)",
  `CREATE TABLE current_generation (
    brand ${key} PRIMARY KEY,
    generation INTEGER NOT NULL REFERENCES generation (id),
    since TEXT
  )`,
  // Fingerprints of a generation's SKUs, styles, and choices, to compare it with the next.
  `CREATE TABLE generation_digest (
    generation INTEGER NOT NULL,
    list ${key} NOT NULL,
    part INTEGER NOT NULL,
    data ${bytes} NOT NULL,
    PRIMARY KEY (generation, list, part)
  )`,
  // How many SKUs offer a style, and the first of them as JSON.
  `CREATE TABLE generation_style (
    generation INTEGER NOT NULL,
    style_code ${key} NOT NULL,
    skus INTEGER NOT NULL,
    examples TEXT NOT NULL,
    PRIMARY KEY (generation, style_code)
  ) ${clustered}`,
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
  "CREATE INDEX personalization_style_by_group ON personalization_style (generation, choice_type, style_code)",
  `CREATE TABLE personalization_choice (
    generation INTEGER NOT NULL,
    choice_type ${key} NOT NULL,
    choice_status TEXT NOT NULL,
    choice_display_seq TEXT NOT NULL,
    choice_value ${key} NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (generation, choice_type, choice_value)
  ) ${clustered}`,
  // scheduled_at: null when no schedule started it. attempt: above 1 it is a retry.
  // log: the last lines that its process printed.
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
