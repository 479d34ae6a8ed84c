import type { Log } from "../base/log.ts";
import { pause, untilAborted, withTimeout } from "../base/time.ts";
import type { Config } from "../config/index.ts";
import { requirePrimary } from "../database/change.ts";
import { saveCursor } from "../database/cursor.ts";
import { type Database, readNow } from "../database/database.ts";
import type { ConnectOptions } from "../database/engines/engine.ts";
import { closeDatabase, explainStoreError, openDatabase } from "../database/index.ts";
import type { Part } from "./parts.ts";

/** Connections by purpose, so that waiting for one does not delay the others. */
export interface Connections {
  /** For requests, and to notice changes on the same server that requests read. */
  readonly serving: Database;
  /** For claims, leases of runs, and data that replicas share, such as the request budget. */
  readonly scheduling: Database;
  /** For other writes, which may wait for a lock: deliveries, lookups, and operators' actions. */
  readonly writer: Database;
  readonly background: Database;
}

export function pooledOptions({ databaseDirectUrl, databasePrepare }: Config): ConnectOptions {
  const isPooled = databaseDirectUrl !== "";
  return { isPooled, isPrepared: !isPooled || databasePrepare === "on" };
}

export async function openConnections(config: Config, log: Log): Promise<Connections & Part> {
  const { databaseUrl, databaseDirectUrl, databaseConnections } = config;
  const pooled = pooledOptions(config);
  const directUrl = databaseDirectUrl || databaseUrl;
  const direct = pooled.isPooled ? { setting: "DATABASE_DIRECT_URL" } : {};
  const max = divide(databaseConnections);
  const serving = await openDatabase(databaseUrl, "serving", { ...pooled, max: max.serving });
  const writer = await openDatabase(directUrl, "scheduling", { ...direct, max: max.writer });
  if (pooled.isPooled) {
    // The cache's polls check where DATABASE_URL leads.
    await requirePrimary(writer, "DATABASE_DIRECT_URL");
    const missing = (await serving.engine.server?.checkPooler(serving.sql, writer.sql)) ?? [];
    if (missing.length > 0)
      log.warn({ missing }, "connections through the pooler have no limits: see ALTER ROLE in the guide");
  }
  const scheduling = await openDatabase(directUrl, "scheduling", direct);
  const background = await openDatabase(databaseUrl, "background", { ...pooled, max: max.background });
  const connections = { serving, scheduling, writer, background };
  return { ...connections, stop: () => Promise.all(listAll(connections).map(closeDatabase)) };
}

/** Extra connections mostly go to writes, which wait for each other's locks. */
function divide(connections: number): Readonly<Record<"writer" | "serving" | "background", number>> {
  // One is for scheduling, whose statements are few and short.
  const shared = connections - 1;
  return {
    writer: Math.ceil(shared / 3),
    serving: Math.round(shared / 3),
    background: Math.floor(shared / 3),
  };
}

const listAll = ({ serving, scheduling, writer, background }: Connections) => [serving, scheduling, writer, background];

/** Drops the connections on the requests' route, which may never respond. */
export function reconnectReads(connections: Connections, { databaseDirectUrl }: Config): void {
  const { serving, background } = connections;
  const lost = databaseDirectUrl === "" ? listAll(connections) : [serving, background];
  for (const database of lost) database.reconnect();
}

/** Whether the store accepts writes, and is undamaged as far as it was read. */
export interface WriteCheck extends Part {
  /** The reason if it does not. */
  readonly problem: () => string | undefined;
}

const writeCheckMs = 5000;

/**
 * Runs until it is stopped. Reads may continue without writes.
 * @param findDamage returns the error of a request that found the store damaged
 */
export function checkWrites({ writer }: Connections, log: Log, findDamage: () => unknown): WriteCheck {
  let problem: string | undefined;
  const check = async () => {
    try {
      // Writes may only touch undamaged parts.
      const damage = findDamage();
      if (damage !== undefined) throw damage;
      // Another value each time, because an embedded store does not write an unchanged page. A
      // transaction, because it drops a read-only connection before the next check.
      await writer.inTransaction((transaction) => saveCursor(transaction, "write-check", crypto.randomUUID()));
      if (problem !== undefined) log.info("the store accepts writes again");
      problem = undefined;
    } catch (error) {
      const failure = writer.engine.classify(error);
      // A store that is busy with another write accepts writes. An unreachable one is reported
      // elsewhere.
      if (failure === "busy" || failure === "locked" || failure === "lost") return;
      const { message } = explainStoreError(writer, error) as Error;
      if (problem === undefined) log.error({ reason: message }, "the store accepts no writes, or is damaged");
      problem = message;
    }
  };
  return { problem: () => problem, ...repeatUntilStopped(check, writeCheckMs) };
}

function repeatUntilStopped(step: (signal: AbortSignal) => Promise<void>, pauseMs: number): Part {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async () => {
    for (; !signal.aborted; await pause(pauseMs, signal)) await step(signal);
  };
  const ended = run();
  return {
    stop: () => {
      stopping.abort();
      return ended;
    },
  };
}

const watchMs = 2000;
/** A statement may wait five seconds for a lock, and a claim has several statements. */
const silenceMs = 15_000;

/**
 * Drops write connections that stop responding, until it is stopped: a lost machine closes none,
 * and with a pooler, reads may still work.
 */
export function watchWrites({ scheduling, writer }: Connections): Part {
  return repeatUntilStopped(async (signal) => {
    // An error is a response, too.
    const responded = readNow(scheduling).then(
      () => true,
      () => true,
    );
    const isAlive = await untilAborted(
      withTimeout(responded, silenceMs, () => false),
      signal,
    ).catch(() => true);
    if (!isAlive) for (const database of [scheduling, writer]) database.reconnect();
  }, watchMs);
}
