import type { ColumnTypes } from "../engine.ts";

/** What is known of each product besides its document: how it was read, and later news of it. */
export const recordProductTruth = ({ counter }: ColumnTypes): readonly string[] => [
  // way: how it was read: live, sync, bulk, push, or import.
  // read_from, read_until: when that read began and ended, by the database's clock.
  "ALTER TABLE product ADD COLUMN way TEXT NOT NULL DEFAULT ''",
  "ALTER TABLE product ADD COLUMN read_from TEXT NOT NULL DEFAULT ''",
  "ALTER TABLE product ADD COLUMN read_until TEXT NOT NULL DEFAULT ''",
  // asked_at: when that read began, by the platform's clock.
  "ALTER TABLE product ADD COLUMN asked_at TEXT NOT NULL DEFAULT ''",
  // What lists, deliveries, and reads said of a product, stored or not, since it was last settled.
  // updated_at: the newest one. noted_at: when the last news came.
  // settles_at: a read that began earlier is not settled. gone_at: when the read began that found
  // no product; null when the product has been found since.
  // waiting_since: since when it takes several responses that do not agree.
  `CREATE TABLE product_news (
    id BIGINT PRIMARY KEY,
    updated_at TEXT NOT NULL DEFAULT '',
    noted_at TEXT NOT NULL,
    settles_at TEXT NOT NULL DEFAULT '',
    gone_at TEXT,
    waiting_since TEXT
  )`,
  // Removals of products that the platform no longer has, which a guard limits.
  `CREATE TABLE product_removal (
    id ${counter},
    removed_at TEXT NOT NULL,
    products INTEGER NOT NULL
  )`,
  "DELETE FROM cursor WHERE name = 'removals'",
];
