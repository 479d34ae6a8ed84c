import type { ColumnTypes, Migration } from "../engine.ts";

/** Who is signed in to the console, and what operators did there. */
export const operators = ({ counter, key }: ColumnTypes): Migration => ({
  name: "2026-11-27-operators",
  statements: [
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
  ],
});
