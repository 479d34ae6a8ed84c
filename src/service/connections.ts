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
  /** For deliveries, whose writes must not delay the others; undefined where none arrive. */
  readonly push: Database | undefined;
}

export async function openConnections(url: string, hasAdmin: boolean, hasPush: boolean): Promise<Connections> {
  const serving = await openDatabase(url);
  const writer = await openDatabase(url, "scheduling");
  const background = hasAdmin ? await openDatabase(url, "background") : serving;
  const push = hasPush ? await openDatabase(url, "scheduling") : undefined;
  return { serving, writer, background, push };
}

export async function closeConnections({ serving, writer, background, push }: Connections): Promise<void> {
  const open = new Set([serving, writer, background, ...(push === undefined ? [] : [push])]);
  await Promise.all([...open].map(closeDatabase));
}
