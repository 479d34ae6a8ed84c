import type { ColumnTypes } from "../engine.ts";

export const columnTypes: ColumnTypes = {
  counter: "INTEGER PRIMARY KEY AUTOINCREMENT",
  key: "TEXT",
  bytes: "BLOB",
  clustered: "WITHOUT ROWID",
  singleProcess: "",
};
