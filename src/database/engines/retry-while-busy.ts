import type { Engine } from "./engine.ts";

const patienceMs = 30_000;
const pauseMs = 10;

export async function retryWhileBusy<T>({ classify }: Pick<Engine, "classify">, work: () => Promise<T>): Promise<T> {
  for (const startedAt = performance.now(); ; await Bun.sleep(pauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (classify(error) !== "busy" || performance.now() - startedAt > patienceMs) throw error;
    }
  }
}
