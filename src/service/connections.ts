import type { Config } from "../config/index.ts";
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

export async function openConnections(
  { databaseUrl, databaseDirectUrl }: Config,
  hasAdmin: boolean,
  hasPush: boolean,
): Promise<Connections> {
  const isPooled = databaseDirectUrl !== "";
  const serving = await openDatabase(databaseUrl, "serving", isPooled);
  const writer = await openDatabase(databaseDirectUrl || databaseUrl, "scheduling");
  const background = hasAdmin ? await openDatabase(databaseUrl, "background", isPooled) : serving;
  const push = hasPush ? await openDatabase(databaseDirectUrl || databaseUrl, "scheduling") : undefined;
  return { serving, writer, background, push };
}

const listAll = ({ serving, writer, background, push }: Connections) => [
  ...new Set([serving, writer, background, ...(push === undefined ? [] : [push])]),
];

/** Calls back after each transaction of this process. */
export function reportCommits(connections: Connections, onCommit: Parameters<Database["reportCommits"]>[0]): void {
  for (const database of listAll(connections)) database.reportCommits(onCommit);
}

/** Gives up connections that may never respond. */
export function reconnectAll(connections: Connections): void {
  for (const database of listAll(connections)) database.reconnect();
}

export async function closeConnections(connections: Connections): Promise<void> {
  await Promise.all(listAll(connections).map(closeDatabase));
}
