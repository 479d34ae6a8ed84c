import type { Log } from "../../base/log.ts";
import { repeat } from "../../base/time.ts";
import { type Database, readNow } from "../../database/database.ts";
import type { Subscription, Subscriptions } from "../../platforms/platform.ts";
import { findSubscribed, findUninstalled, removeUninstalled, saveSubscribed } from "./state.ts";

/** The platform deletes a subscription after a number of failed deliveries. */
const maxAgeMs = 3_600_000;
/** How often each process checks whether any process has asked the platform recently. */
const intervalMs = 5 * 60_000;

export interface SubscriptionCheckOptions {
  readonly database: Database;
  readonly subscriptions: Subscriptions;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Checks every hour that the platform still delivers every topic, until the signal aborts. */
export async function watchSubscriptions(options: SubscriptionCheckOptions): Promise<void> {
  const { log, signal } = options;
  const step = async () => {
    await checkSubscriptions(options);
    return intervalMs;
  };
  const onFailure = (error: unknown) => log.warn({ err: error }, "cannot check the subscriptions; retrying");
  await repeat(step, { signal, retryMs: intervalMs, onFailure });
}

async function checkSubscriptions({ database, subscriptions, log, signal }: SubscriptionCheckOptions): Promise<void> {
  const known = await findSubscribed(database);
  const uninstalledAt = await findUninstalled(database);
  const nowMs = Date.parse(await readNow(database));
  const isDue = known !== undefined && Math.abs(nowMs - Date.parse(known.checkedAt)) >= maxAgeMs;
  const mayBeBack = uninstalledAt !== undefined && Math.abs(nowMs - Date.parse(uninstalledAt)) >= intervalMs;
  if (!isDue && !mayBeBack) return;
  const found = await subscriptions.list(signal);
  if (uninstalledAt !== undefined) await database.inTransaction(removeUninstalled);
  if (known === undefined) return;
  const missing = findMissing(subscriptions.topics, found, known.address);
  await database.inTransaction((transaction) => saveSubscribed(transaction, known.address, missing));
  const lost = missing.filter((topic) => !known.missing.includes(topic));
  if (lost.length === 0) return;
  log.error(
    { address: known.address, topics: lost },
    "the platform no longer delivers these topics; run: pds platform subscribe",
  );
}

export const findMissing = (topics: readonly string[], found: readonly Subscription[], address: string): string[] =>
  topics.filter((topic) => !found.some((each) => each.topic === topic && each.address === address));
