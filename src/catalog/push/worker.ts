import { backoff, pause, repeat } from "../../base/time.ts";
import { Lease } from "../../database/lease.ts";
import { type DueProduct, finishRead, listDue, type ReadOutcome } from "./queue.ts";
import { createPushReader, type PushReaderOptions, type ReadResult } from "./reader.ts";

const pollMs = 250;
/** If a process is killed, another one takes over within this time. */
const leaseS = 10;
const renewMs = 3000;
const refusedMs = 1000;
/** Products read at the same time; the platform's throttle limits the rate. */
const concurrency = 6;
/** Minimum time between two reads of a product that changes all the time. */
const gapS = 3;

export interface PushWorkerOptions extends PushReaderOptions {
  readonly holder: string;
  readonly signal: AbortSignal;
}

/**
 * Reads queued products until the signal aborts, while no other process does. Two would only read
 * some products twice.
 */
export async function workPushQueue(options: PushWorkerOptions): Promise<void> {
  const { database, holder, log, signal } = options;
  const read = createPushReader(options);
  const active = new Map<bigint, Promise<void>>();
  const lease = new Lease(database, { name: "push", holder, renewMs, shortestS: leaseS, longestS: leaseS });

  const start = async () => {
    const due = active.size < concurrency ? await listDue(database, concurrency + active.size) : [];
    const idle = due.filter(({ id }) => !active.has(id)).slice(0, concurrency - active.size);
    // Without work, no lease is held, so that an idle service never writes.
    if (idle.length === 0 && active.size === 0) return pollMs;
    if (!(await lease.hold())) return refusedMs;
    for (const product of idle) {
      const reading = readDue(product, read, options).finally(() => active.delete(product.id));
      active.set(product.id, reading);
    }
    return pollMs;
  };

  const step = async () => {
    await Promise.race([pause(await start(), signal), ...active.values()]);
    return 0;
  };
  const onFailure = (error: unknown) => log.warn({ err: error }, "cannot work the queue of deliveries; retrying");
  await repeat(step, { signal, retryMs: refusedMs, onFailure });
  await Promise.all(active.values());
  await lease.release().catch(() => {});
}

/** Never rejects: a product whose outcome could not be recorded stays due. */
async function readDue(
  product: DueProduct,
  read: ReturnType<typeof createPushReader>,
  { database, log, signal }: PushWorkerOptions,
): Promise<void> {
  try {
    const result = await read(product.id, signal);
    const outcome = result === "settled" && !product.canSettle ? "unsettled" : result;
    await finishRead(database, product, toOutcome(outcome, product.attempts), gapS);
  } catch (error) {
    if (signal.aborted) return;
    log.warn({ product: `${product.id}`, err: error }, "cannot read a delivered product; retrying");
    await finishRead(database, product, toOutcome("failed", product.attempts), gapS).catch(() => {});
  }
}

const maxAgainS = 60;
const failedAgainS = 2;
/** Three reads follow a delivery; the last begins ten seconds after it. */
const unsettledAgainS = 4.6;

/** @param attempts consecutive reads that left it queued */
export function toOutcome(result: ReadResult, attempts: number): ReadOutcome {
  if (result === "settled") return { kind: result };
  const againInS =
    result === "failed" ? backoff(attempts + 1, failedAgainS) : unsettledAgainS * 1.5 ** Math.max(0, attempts - 1);
  return { kind: result, againInS: Math.min(maxAgainS, againInS) };
}
