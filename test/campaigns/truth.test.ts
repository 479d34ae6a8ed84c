import { afterAll, describe, expect, test } from "bun:test";
import pino from "pino";
import { createRandom } from "../../packages/platform-stand-in/src/catalog/random.ts";
import { checkShop } from "../../src/catalog/guards.ts";
import { refreshProduct } from "../../src/catalog/refresh.ts";
import { readConfig } from "../../src/config/index.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { listProductStates, noteDelivery } from "../../src/database/product.ts";
import { createPlatform } from "../../src/platforms/index.ts";
import {
  createStore,
  enginesInTurn,
  isCampaign,
  pds,
  type RunningService,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { environmentOf, getAnswers, readAnswers, startPlatform } from "../support/platform.ts";

// Products change at any instant, up to four times within a second, while three replicas read them:
// by sync, by look-ups, and after deliveries. Every second read lags behind by five seconds.

const products = isCampaign ? 500 : 40;
const editingMs = isCampaign ? 600_000 : 20_000;
const replicaCount = 3;
const lagMs = 5000;
/** Reads that begin so long after the last edit must be right; deliveries settle after ten seconds. */
const quietMs = 12_000;

const folder = await temporaryFolder();
const [PDS_CONFIG = ""] = await writeFiles(folder, {
  "pds.toml": '[jobs.catalog-sync]\nschedule = "off"\n[jobs.catalog-reconcile]\nschedule = "off"\n',
});

describe.each([...enginesInTurn])("on %s, three replicas of a shop that changes all the time", async (engine) => {
  const platform = startPlatform({
    products,
    specials: ["manyMetafields"],
    sharesSeconds: true,
    lag: { lagMs, probability: 0.5 },
    now: Date.now,
  });
  const { catalog } = platform;
  const ids = catalog.ids(0, catalog.count);
  const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine), PDS_CONFIG };
  const run = async (job: string) => {
    const { code, stderr } = await pds(["run", job], environment);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  };
  await run("catalog-reconcile");
  const replicas = await Promise.all(
    Array.from({ length: replicaCount }, () =>
      serve({ ...environment, PRODUCT_MAX_AGE: "3", SCHEDULER: "off", MEMORY_MEGABYTES: "0" }),
    ),
  );
  const database = await openDatabase(environment.DATABASE_URL);
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await closeDatabase(database);
  });
  const reader = createPlatform(readConfig({ ...environment, DATABASE_URL: undefined }), pino({ level: "silent" }));
  if (reader === undefined) throw new Error("the settings name no platform");

  /** When each product was edited last. */
  const editedMs = new Map<string, number>();
  /** Products whose last edit moved `updatedAt` or was delivered, and those that need a reconcile. */
  const quiet = new Set<string>();
  let version = 0;

  /** An edit of the parts that a mixed answer would show in different states. */
  const edit = (id: string, isQuiet: boolean) => {
    const text = `v${++version}`;
    const changes = {
      product: { title: text, vendor: text },
      variants: { 1: { sku: text } },
      variantMetafields: { 1: { sku_status: text } },
    };
    catalog.touch(id, changes, { keepUpdatedAt: isQuiet });
    editedMs.set(id, Date.now());
    if (isQuiet) quiet.add(id);
    else quiet.delete(id);
  };

  /** Reads a delivered product until it is settled. */
  const refreshUntilSettled = async (id: bigint, signal: AbortSignal) => {
    for (let waitMs = 500; !signal.aborted; waitMs = Math.min(waitMs * 2, 4000)) {
      const context = { database, platform: reader, maxRemovedShare: 0.2 };
      const refreshed = await refreshProduct(
        id,
        "push",
        { priority: "sync", signal },
        {
          ...context,
          checkShop: (shopId) => checkShop(database, reader, shopId),
        },
      );
      if (refreshed.isSettled) return;
      await Bun.sleep(waitMs);
    }
  };

  const mixed: string[] = [];
  const check = async (replica: RunningService, id: string) => {
    const response = await replica.get(`/api/v1/products/${id}`);
    if (response.status !== 200) return;
    const text = await response.text();
    const versions = new Set([...text.matchAll(/"(?:title|vendor|sku|value)":"(v\d+)"/g)].map(([, found]) => found));
    // A title of a variant or an untouched metafield has no version.
    if (versions.size > 1) mixed.push(`${id}: ${[...versions]}`);
  };

  test("serves one state of each product, and the right one once it is settled", async () => {
    const random = createRandom(7);
    const pick = () => ids[Math.floor(random() * ids.length)] ?? "";
    const stopping = new AbortController();
    const following = new Map<string, Promise<void>>();
    const endsMs = Date.now() + editingMs;
    const editing = (async () => {
      while (Date.now() < endsMs) {
        const id = pick();
        const edits = 1 + Math.floor(random() * 4);
        const isQuiet = random() < 0.1;
        for (let count = 0; count < edits; count++) {
          edit(id, isQuiet);
          if (!isQuiet && !following.has(id) && random() < 0.8) {
            const reading = refreshUntilSettled(BigInt(id), stopping.signal).finally(() => following.delete(id));
            following.set(id, reading);
          }
          // Only deliveries of edits that move `updatedAt` get lost, for sync finds those.
          if (following.has(id)) await noteDelivery(database, [{ id: BigInt(id) }]);
          await Bun.sleep(random() * 250);
        }
      }
    })();
    const looking = replicas.map(async (replica) => {
      while (Date.now() < endsMs) {
        await check(replica, pick());
        await Bun.sleep(20);
      }
    });
    const syncing = (async () => {
      while (Date.now() < endsMs) {
        await run("catalog-sync");
        await Bun.sleep(3000);
      }
    })();
    await Promise.all([editing, ...looking, syncing]);
    await Bun.sleep(quietMs);
    await Promise.all(following.values());
    stopping.abort();
    expect(mixed).toEqual([]);

    const expected = await readExpected();
    // First the states: a request for a stale product refreshes it.
    const states = await listProductStates(database, ids.map(BigInt));
    const served = await getAnswers(replicas[0] as RunningService, ids);
    const wrong = ids.filter((id) => served.get(id) !== expected.get(id));
    const wrongButSettled = wrong.filter((id) => {
      const state = states.get(id);
      const wasReadAfter = Date.parse(state?.askedAt ?? "") > (editedMs.get(id) ?? 0) + lagMs;
      return state?.isSettled === true && wasReadAfter;
    });
    expect(wrongButSettled).toEqual([]);

    await run("catalog-sync");
    const synced = await getAnswers(replicas[1] as RunningService, ids);
    expect(ids.filter((id) => !quiet.has(id) && synced.get(id) !== expected.get(id))).toEqual([]);
    await run("catalog-reconcile");
    const reconciled = await getAnswers(replicas[2] as RunningService, ids);
    expect(ids.filter((id) => reconciled.get(id) !== expected.get(id))).toEqual([]);
  });

  const readExpected = async () => {
    platform.lag.change({ probability: 0 });
    const expected = await readAnswers(platform, ids);
    platform.lag.change({ probability: 0.5 });
    return expected;
  };
});
