import { cpuSecondsOf, moveToCore, serverCore } from "../support/processes.ts";

const everyMs = 100;
const work = JSON.stringify(
  Array.from({ length: 200 }, (_, id) => ({ id, name: `choice ${id}`, prices: [id, id / 7] })),
);

/**
 * Measures CPU times on the core of the servers, and converts them to what they would be at one speed.
 * The neighbors of a virtual machine change its speed by half within minutes, so the CPU time of a fixed
 * piece of work is taken ten times a second.
 */
export class CpuMeter implements Disposable {
  /** CPU time of the work at the speed to which times are converted; that of the first measurement. */
  workUs: number | undefined;
  #sumUs = 0;
  #count = 0;
  readonly #timer = setInterval(() => this.#measureWork(), everyMs);

  constructor(workUs?: number) {
    this.workUs = workUs;
    moveToCore(process.pid, serverCore);
  }

  /** CPU seconds that processes used during some other work. */
  async during(pids: readonly number[], other: () => Promise<unknown>): Promise<number[]> {
    const [before, sumUs, count] = [pids.map(cpuSecondsOf), this.#sumUs, this.#count];
    await other();
    const after = pids.map(cpuSecondsOf);
    const workUs = (this.#sumUs - sumUs) / (this.#count - count);
    this.workUs ??= workUs;
    const ratio = this.workUs / workUs;
    return after.map((cpuS, index) => (cpuS - (before[index] ?? 0)) * ratio);
  }

  #measureWork(): void {
    const before = process.cpuUsage();
    JSON.stringify(JSON.parse(work));
    const { user, system } = process.cpuUsage(before);
    this.#sumUs += user + system;
    this.#count++;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
