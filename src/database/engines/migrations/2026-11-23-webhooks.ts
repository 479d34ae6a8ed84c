import type { ColumnTypes } from "../engine.ts";

/** The products to read because the platform delivered news of them, and the right to do so. */
export const createPushQueue = ({ key }: ColumnTypes): readonly string[] => [
  // deliveries: how many came since the product was queued, which tells whether another came.
  // unread_since: the first delivery after which the product has not been read; null when it has.
  // due_at: when to read it. earliest_at: no delivery makes it due before that.
  // attempts: reads in a row that left it queued.
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
  // The right of one process to do some work, until the lease ends.
  `CREATE TABLE lease (
    name ${key} PRIMARY KEY,
    holder TEXT NOT NULL,
    ends_at TEXT NOT NULL
  )`,
];
