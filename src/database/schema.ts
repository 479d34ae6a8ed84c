import type { ColumnTypes } from "./engines/engine.ts";

/**
 * The tables and indexes that the engines have in common. What differs, and expressions that must match
 * those of queries as text, is in the `schema.ts` of each engine.
 */
export const tables = ({ counter, key }: ColumnTypes, now: string): readonly string[] => [
  // Products.

  // updated_at: the platform's last change; empty from other sources. checked_at: when it last
  // matched the platform; null when it is known to differ. words: for search. visible_from: null
  // while hidden from shoppers. way: live, sync, bulk, push, or import. read_from, read_until:
  // start and end of that read, by the database's clock. asked_at: its start, by the platform's
  // clock.
  `CREATE TABLE product (
    id BIGINT PRIMARY KEY,
    document TEXT NOT NULL,
    tag TEXT NOT NULL,
    updated_at TEXT NOT NULL DEFAULT '',
    checked_at TEXT,
    words TEXT NOT NULL DEFAULT '',
    visible_from TEXT,
    way TEXT NOT NULL DEFAULT '',
    read_from TEXT NOT NULL DEFAULT '',
    read_until TEXT NOT NULL DEFAULT '',
    asked_at TEXT NOT NULL DEFAULT ''
  )`,
  // Comparisons and counts of all products read these indexes, and no documents.
  "CREATE INDEX product_state ON product (id, tag, updated_at, checked_at)",
  "CREATE INDEX product_by_visibility ON product (visible_from)",
  "CREATE INDEX product_by_truth ON product (id, way, updated_at, checked_at, read_from) WHERE way <> 'import'",
  // News of a product, stored or not, from lists, deliveries, and reads, since it was last settled.
  // updated_at: of the newest. noted_at: when the last one came. settles_at: earlier reads do not
  // settle it. gone_at: start of the read that found no product; null once it is found again.
  // waiting_since: since when several responses must agree. unusable_at: start of the read whose
  // product could not be stored; null once anything newer is known.
  `CREATE TABLE product_news (
    id BIGINT PRIMARY KEY,
    updated_at TEXT NOT NULL DEFAULT '',
    noted_at TEXT NOT NULL,
    settles_at TEXT NOT NULL DEFAULT '',
    gone_at TEXT,
    waiting_since TEXT,
    unusable_at TEXT
  )`,
  // Removals of products that the platform no longer has, which share one limit: with a limit each,
  // jobs and lookups could together remove much more.
  `CREATE TABLE product_removal (
    id ${counter},
    removed_at TEXT NOT NULL,
    products INTEGER NOT NULL
  )`,
  // Products to read because of deliveries. deliveries: since it was queued, to detect another one.
  // unread_since: the first delivery that no read has followed. due_at: when to read it.
  // earliest_at: no delivery makes it due earlier. attempts: consecutive reads that left it queued.
  `CREATE TABLE push_queue (
    product BIGINT PRIMARY KEY,
    deliveries INTEGER NOT NULL,
    unread_since TEXT,
    due_at TEXT NOT NULL,
    earliest_at TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0
  )`,
  "CREATE INDEX push_queue_due ON push_queue (due_at)",
  "CREATE INDEX push_queue_unread ON push_queue (unread_since) WHERE unread_since IS NOT NULL",

  // Personalization. Each generation has tables of its own: see `generation-tables.ts`.

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
  // A row is a brand's whole presentation, because no query reads single entries. document: the
  // entries as JSON. since: when it became current; null otherwise. previous: the one that was
  // current before. feed: its file as JSON, to recognize it.
  `CREATE TABLE presentation (
    id ${counter},
    brand ${key} NOT NULL,
    loaded_at TEXT NOT NULL,
    since TEXT,
    previous INTEGER,
    entries INTEGER NOT NULL,
    feed TEXT NOT NULL,
    document TEXT NOT NULL
  )`,
  "CREATE UNIQUE INDEX presentation_current ON presentation (brand) WHERE since IS NOT NULL",

  // Jobs.

  // scheduled_at: null without a schedule. attempt: above 1 for a retry. lease_seconds: length of a
  // renewed lease. log: the last lines of its process. backend: the server process of its
  // transactions; null on an embedded store. cancelled: by whom, in words. is_first: 1 if its job
  // had never succeeded before.
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
    log TEXT,
    backend TEXT,
    cancelled TEXT,
    is_first INTEGER NOT NULL DEFAULT 0
  )`,
  "CREATE INDEX run_by_finish ON run (finished_at, id) WHERE finished_at IS NOT NULL",
  // Claims insert rows: one replica gets a scheduled time, and a job has one run at once.
  "CREATE UNIQUE INDEX run_by_tick ON run (job, brand, scheduled_at, attempt) WHERE scheduled_at IS NOT NULL",
  "CREATE UNIQUE INDEX run_under_way ON run (job, brand) WHERE finished_at IS NULL",
  "CREATE INDEX run_by_job ON run (job, brand, id)",
  "CREATE INDEX run_by_success ON run (job, brand, id) WHERE outcome = 'succeeded'",
  "CREATE INDEX run_by_failure ON run (job, brand, id) WHERE outcome = 'failed'",
  "CREATE INDEX run_by_abandonment ON run (job, brand, id) WHERE outcome = 'abandoned'",
  "CREATE INDEX run_by_cancellation ON run (job, brand, id) WHERE outcome = 'cancelled'",
  // A schedule's last run. After the clock was set back, newer runs may have earlier times.
  "CREATE INDEX run_by_schedule ON run (job, brand, id) WHERE scheduled_at IS NOT NULL",
  "CREATE INDEX run_by_reason ON run (id) WHERE reason IS NOT NULL",
  // Imports whose feed had not changed count nothing.
  "CREATE INDEX run_by_count ON run (job, brand, id) WHERE outcome = 'succeeded' AND counts > 0",
  // resumed_at: null while paused. It stays, so that no earlier times are made up for.
  `CREATE TABLE job_pause (
    job ${key} NOT NULL,
    brand ${key} NOT NULL,
    paused_at TEXT NOT NULL,
    paused_by TEXT NOT NULL,
    resumed_at TEXT,
    PRIMARY KEY (job, brand)
  )`,
  // since: when a replica first followed the schedule. Earlier times are not missed.
  `CREATE TABLE job_schedule (
    job ${key} NOT NULL,
    brand ${key} NOT NULL,
    schedule TEXT NOT NULL,
    since TEXT NOT NULL,
    PRIMARY KEY (job, brand)
  )`,
  // The progress of jobs, and other single values.
  `CREATE TABLE cursor (
    name ${key} PRIMARY KEY,
    value TEXT NOT NULL
  )`,

  // Caches.

  // Data that caches must drop. scope: a product's id, or fingerprints in base64; null for all.
  `CREATE TABLE change (
    id ${counter},
    noun TEXT NOT NULL,
    scope TEXT,
    recorded_at TEXT NOT NULL DEFAULT (${now})
  )`,
  // Up to which change each cache in front of the service is purged.
  `CREATE TABLE purge_target (
    name ${key} PRIMARY KEY,
    state TEXT NOT NULL
  )`,
  // The right of one process to do some work, until the lease ends.
  `CREATE TABLE lease (
    name ${key} PRIMARY KEY,
    holder TEXT NOT NULL,
    ends_at TEXT NOT NULL
  )`,

  // Operators.

  // id: SHA-256 of the session's id, which only the browser has.
  // proof: hash of that id and of the token, so that the session ends with the token.
  `CREATE TABLE operator_session (
    id ${key} PRIMARY KEY,
    operator TEXT NOT NULL,
    proof TEXT NOT NULL,
    expires_at TEXT NOT NULL
  )`,
  // outcome: null until the action has ended; it is set once. report: that of a dry run, as JSON.
  `CREATE TABLE audit_record (
    id ${counter},
    begun_at TEXT NOT NULL,
    operator TEXT NOT NULL,
    client TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    ended_at TEXT,
    outcome TEXT,
    result TEXT,
    report TEXT
  )`,
  "CREATE INDEX audit_record_by_time ON audit_record (begun_at, id)",
];
