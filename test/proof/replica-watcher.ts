import { cleanUp } from "../support/clean-up.ts";

const pollMs = 500;
const samples = /^pds_http_request_duration_seconds_count\{(?=[^}]*route="\/api\/)[^}]*status="(\d+)"[^}]*\} (\d+)$/gm;

export interface Watched {
  readonly adminUrl: string;
}

/** Adds up the responses of the three operations by status. */
export function countStatuses(metrics: string): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [, status, count] of metrics.matchAll(samples)) {
    counts.set(Number(status), (counts.get(Number(status)) ?? 0) + Number(count));
  }
  return counts;
}

/**
 * Counts the responses of replicas by status, also those in whose place a balancer or an edge got
 * another one. Of a replica that is killed, the last half second is missing.
 */
export class ReplicaWatcher {
  readonly #total = new Map<number, number>();
  readonly #watching: Promise<unknown>;
  #isOver = false;

  constructor(replicas: readonly Watched[]) {
    this.#watching = Promise.all(replicas.map((replica) => this.#watch(replica)));
    cleanUp(() => this.stop());
  }

  get(status: number): number {
    return this.#total.get(status) ?? 0;
  }

  /** The responses that no lost part of the fleet explains: 500, for example. */
  get defects(): number {
    const isDefect = (status: number) => status >= 500 && status !== 503;
    return [...this.#total].reduce((sum, [status, count]) => sum + (isDefect(status) ? count : 0), 0);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch({ adminUrl }: Watched): Promise<void> {
    let last = new Map<number, number>();
    for (let isLast = false; !isLast; ) {
      isLast = this.#isOver;
      const counts = await readCounts(adminUrl).catch(() => undefined);
      if (counts !== undefined) {
        // A process that was started again counts from zero.
        const isOther = [...last].some(([status, count]) => (counts.get(status) ?? 0) < count);
        for (const [status, count] of counts) {
          const added = count - (isOther ? 0 : (last.get(status) ?? 0));
          this.#total.set(status, this.get(status) + added);
        }
        last = counts;
      }
      if (!isLast) await Bun.sleep(pollMs);
    }
  }
}

async function readCounts(adminUrl: string): Promise<Map<number, number>> {
  const response = await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(2000) });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return countStatuses(await response.text());
}
