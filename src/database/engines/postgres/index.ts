import type { Engine } from "../engine.ts";
import { connect, maxConcurrentReads } from "./connect.ts";
import { loadByCopy } from "./copy.ts";
import { classify } from "./errors.ts";
import { findProductIds } from "./find-products.ts";
import { lock } from "./lock.ts";
import { checkPooler } from "./pooler.ts";
import { findMissingRight, names } from "./rights.ts";
import { endAbandoned } from "./run-lock.ts";
import { columnTypes, handleOf, now, schema, toText } from "./schema.ts";

export const postgres: Engine = {
  schemes: ["postgres:", "postgresql:"],
  open: async (url, purpose, options) => connect(url, purpose, options),
  server: {
    lock,
    limitLockWaits: (transaction) => transaction.unsafe("SET LOCAL lock_timeout = 500"),
    endAbandoned,
    findMissingRight,
    checkPooler,
  },
  classify,
  maxConcurrentReads,

  schema,
  names,
  columnTypes,

  // The current timeline. The one of the last checkpoint is outdated for a while after a failover.
  history: "CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END",
  now,
  later: (seconds) => toText(`clock_timestamp() + ${seconds} * interval '1 second'`),
  toBytes: (text) => `convert_to(${text}, 'UTF8')`,
  contains: (bytes, text) => `position(convert_to(${text}, 'UTF8') IN ${bytes}) > 0`,
  keyList: {
    contains: (column, value) => `${column} = ANY(${value})`,
    toValue: (keys) => `{${keys.map((key) => `"${key.replace(/["\\]/g, "\\$&")}"`).join(",")}}`,
  },
  handleOf,

  findProductIds,
  load: loadByCopy,
};
