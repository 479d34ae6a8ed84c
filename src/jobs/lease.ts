import { repeatEvery } from "../base/time.ts";
import type { Database } from "../database/database.ts";
import { findCancellation, renewRunLease } from "./claim.ts";

const cancellationPauseMs = 1000;

const renewals = 3;

/**
 * Renews a run's lease until disposal.
 * @param onExpired called once, when the run may be considered abandoned
 * @param onCancelled called once, with the reason
 */
export function keepLease(
  database: Database,
  id: number,
  leaseSeconds: number,
  onExpired: () => void,
  onCancelled: (reason: string) => void,
): Disposable {
  // A process that was starved of CPU asks the store before it gives up, because its supervisor may have
  // renewed the lease. So only unanswered attempts count, not time.
  let unanswered = 0;
  let isOver = false;
  const expire = () => {
    if (isOver) return;
    clearInterval(heartbeat);
    isOver = true;
    onExpired();
  };
  const renew = async () => {
    // Checked before the call, because a store behind a broken connection may never respond.
    if (++unanswered === renewals) return expire();
    try {
      if (await renewRunLease(database, id, leaseSeconds)) unanswered = 0;
      else expire();
    } catch (error) {
      // While the store is locked for writing, perhaps by this run, no other process can take over
      // the lease. A store that is unreachable may come back before the lease expires.
      if (database.engine.classify(error) === "busy") unanswered = 0;
    }
  };
  const heartbeat = setInterval(renew, (leaseSeconds * 1000) / renewals);
  // If the store is unreachable, the lease decides.
  const watch = repeatEvery(cancellationPauseMs, async () => {
    const reason = await findCancellation(database, id);
    if (reason === undefined) return;
    watch[Symbol.dispose]();
    onCancelled(reason);
  });
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearInterval(heartbeat);
      watch[Symbol.dispose]();
    },
  };
}
