import type { Database } from "../database/database.ts";
import { closeDatabase, openDatabase } from "../database/index.ts";

/** The connections of a process to its store, by purpose. */
export interface Connections {
  /** For requests. */
  readonly serving: Database;
  /** For writes, which may wait for a lock without delaying requests. */
  readonly writer: Database;
  /** For the console and for probes; the same as `serving` in a process that has neither. */
  readonly background: Database;
}

export async function openConnections(url: string, hasAdmin: boolean): Promise<Connections> {
  const serving = await openDatabase(url, "serving");
  const writer = await openDatabase(url, "scheduling");
  const background = hasAdmin ? await openDatabase(url, "background") : serving;
  return { serving, writer, background };
}

export async function closeConnections({ serving, writer, background }: Connections): Promise<void> {
  await Promise.all([...new Set([serving, writer, background])].map(closeDatabase));
}
