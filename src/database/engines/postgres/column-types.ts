import type { ColumnTypes } from "../engine.ts";

export const columnTypes: ColumnTypes = {
  counter: "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  key: 'TEXT COLLATE "C"',
  bytes: "BYTEA",
  clustered: "",
  singleProcess: "WITH (parallel_workers = 0)",
};
