export const readsPerSecond = 200;

/**
 * Starts reads at a steady rate until the work ends, whether or not earlier reads are done.
 * @returns the durations of the reads in milliseconds
 */
export async function readDuring(work: Promise<unknown>, read: () => Promise<void>): Promise<number[]> {
  const durations: number[] = [];
  const timedRead = async () => {
    const startedMs = performance.now();
    await read();
    durations.push(performance.now() - startedMs);
  };
  let isDone = false;
  const end = work.finally(() => {
    isDone = true;
  });
  const startedMs = performance.now();
  const reads: Promise<void>[] = [];
  while (!isDone) {
    while (reads.length < ((performance.now() - startedMs) / 1000) * readsPerSecond) reads.push(timedRead());
    await Bun.sleep(1);
  }
  await Promise.all(reads);
  await end;
  return durations;
}
