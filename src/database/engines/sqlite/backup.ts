import { Database as File } from "bun:sqlite";
import { closeSync, fsyncSync, openSync, rmSync } from "node:fs";
import { DamagedFileError, findDamage } from "./errors.ts";

/** Leases, sessions, and purge positions no longer hold when the copy is used. */
const emptied = ["lease", "operator_session", "purge_target"];

/** @throws Error when the file is not empty, or the store is damaged */
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
  const damage = findDamage(file);
  if (damage !== undefined) throw new DamagedFileError(damage);
  const descriptor = openSync(path, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
