import { Database as File } from "bun:sqlite";
import { closeSync, fsyncSync, openSync, rmSync } from "node:fs";

/** Leases, sessions, and purge positions no longer hold when the copy is used. */
const emptied = ["lease", "operator_session", "purge_target"];

/** @throws Error when the file is not empty, or the copy is damaged */
export function backUp(store: string, path: string): void {
  // SQLite would apply the journal of a killed backup to this one.
  const removeJournal = () => rmSync(`${path}-journal`, { force: true });
  removeJournal();
  try {
    copy(store, path);
  } finally {
    removeJournal();
  }
}

function copy(from: string, path: string): void {
  using store = new File(from, { readonly: true });
  store.run("PRAGMA busy_timeout = 10000");
  store.run("VACUUM INTO ?", [path]);
  using file = new File(path);
  file.run("PRAGMA secure_delete = ON");
  file.transaction(() => {
    for (const table of emptied) file.run(`DELETE FROM ${table}`);
  })();
  const [result] = file.query<{ integrity_check: string }, []>("PRAGMA integrity_check").all();
  if (result?.integrity_check !== "ok") throw new Error(`the copy is damaged: ${result?.integrity_check}`);
  const descriptor = openSync(path, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
