import type { ServiceProcess } from "./service-process.ts";
import { until } from "./until.ts";

/** Requests that are sent to replicas all the time, until it is stopped. */
export interface Traffic extends AsyncDisposable {
  /** Requests for cached responses, and those that failed. */
  readonly cached: { count: number; readonly failures: string[] };
  /** Requests that need the store. */
  readonly uncached: { count: number; failed: number };
  /**
   * Waits until each replica has answered a request from the store that began after this call.
   * @returns how many milliseconds that took
   */
  untilAllRead(): Promise<number>;
}

const pauseMs = 20;
/** No request takes as long: the limits before the store give up sooner. */
const timeoutMs = 30_000;

/** @param cachedPaths what each replica has in its cache and keeps there */
export async function startTraffic(
  replicas: readonly Pick<ServiceProcess, "url">[],
  cachedPaths: readonly string[],
): Promise<Traffic> {
  for (const { url } of replicas) {
    for (const path of cachedPaths) {
      await until(`${path} is cached`, async () => (await fetch(url + path)).status === 200);
    }
  }
  const cached = { count: 0, failures: [] as string[] };
  const uncached = { count: 0, failed: 0 };
  /** When the last request that the store answered began, by replica. */
  const answered = replicas.map(() => 0);
  let isOver = false;
  const repeat = async (send: () => Promise<unknown>) => {
    while (!isOver) {
      await send();
      await Bun.sleep(pauseMs);
    }
  };
  const get = (url: string) => fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  const loops = replicas.flatMap(({ url }, index) => [
    repeat(async () => {
      const path = cachedPaths[cached.count++ % cachedPaths.length];
      const problem = await get(`${url}${path}`).then(
        async (response) => (response.status === 200 ? undefined : `${response.status} ${await response.text()}`),
        (error) => `${error}`,
      );
      if (problem !== undefined) cached.failures.push(`replica ${index}: ${path}: ${problem}`);
    }),
    repeat(async () => {
      const begunMs = performance.now();
      uncached.count++;
      // Nobody knows this SKU, so it is in no cache.
      const response = await get(`${url}/api/v1/products/pz/${crypto.randomUUID()}`).catch(() => undefined);
      await response?.text().catch(() => "");
      if (response?.status === 200) answered[index] = begunMs;
      else uncached.failed++;
    }),
  ]);
  return {
    cached,
    uncached,
    untilAllRead: async () => {
      const sinceMs = performance.now();
      await until("every replica reads the store", () => answered.every((begunMs) => begunMs > sinceMs));
      return performance.now() - sinceMs;
    },
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await Promise.all(loops);
    },
  };
}
