import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { toStoredProduct } from "../../src/database/product.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { runLoad } from "../support/load.ts";
import {
  createStore,
  type Engine,
  endLeases,
  engines,
  isCampaign,
  main,
  pds,
  type RunningService,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { until, untilEqual } from "../support/until.ts";

// Backups are taken while requests, imports, and changes of all products go on. Each is restored
// under two running replicas, and what they answer is compared with what the original answered.

/** Number of backups that are restored, on each engine. */
const backups = isCampaign ? 100 : 3;
const ids = Array.from({ length: 20 }, (_, index) => index + 1);
const skus = Array.from({ length: 500 }, (_, index) => `SKU-${index}`);
const productPaths = ids.map((id) => `products/${id}`);
const personalizationPaths = skus.filter((_, index) => index % 20 === 0).map((sku) => `products/pz/${sku}`);
const historyPaths = ["histories/desc", "histories/asc"];

const allPaths = [...productPaths, ...personalizationPaths, ...historyPaths];
const never = { fromMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };

type Answers = readonly string[];

/** Status, entity tag, and body at each path. */
const answersOf = ({ get }: RunningService, paths: readonly string[]): Promise<Answers> =>
  Promise.all(
    paths.map(async (path) => {
      const response = await get(`/api/v1/${path}`);
      return `${path} ${response.status} ${response.headers.get("etag")} ${await response.text()}`;
    }),
  );

/** What the original answered at some paths after each change, and when that can have been so. */
class Timeline {
  readonly #states: { readonly fromMs: number; readonly answers: string; untilMs: number }[] = [];

  get isEmpty(): boolean {
    return this.#states.length === 0;
  }

  /** @param beganMs when the change began */
  add(answers: Answers, beganMs: number, endedMs: number): void {
    const last = this.#states.at(-1);
    if (last !== undefined) last.untilMs = endedMs;
    this.#states.push({ fromMs: beganMs, answers: answers.join("\n"), untilMs: Number.POSITIVE_INFINITY });
  }

  /** When the original can have answered so. */
  find(answers: Answers): { readonly fromMs: number; readonly untilMs: number } | undefined {
    const text = answers.join("\n");
    return this.#states.findLast((state) => state.answers === text);
  }
}

/** A loop that goes on until it is stopped. */
function repeat(step: (number: number) => Promise<void>): () => Promise<void> {
  let isStopped = false;
  const running = (async () => {
    for (let number = 1; !isStopped; number++) await step(number);
  })();
  return async () => {
    isStopped = true;
    await running;
  };
}

/** Changes all products in one transaction. */
async function changeProducts(sql: SQL, mark: number): Promise<void> {
  await sql.begin(sql.options.adapter === "sqlite" ? "IMMEDIATE" : "READ WRITE", async (transaction) => {
    for (const id of ids) {
      const { document, tag } = toStoredProduct(
        toProduct(id, { title: `Mark ${mark}`, body_html: "x".repeat(mark % 97) }),
      );
      await transaction`UPDATE product SET document = ${document}, tag = ${tag} WHERE id = ${id}`;
    }
  });
}

async function createOriginal(engine: Engine) {
  const environment = { DATABASE_URL: await createStore(engine), BRAND: "acme", SCHEDULER: "off" };
  const folder = await temporaryFolder();
  const [products = ""] = await writeFiles(folder, {
    "products.ndjson": ids.map((id) => JSON.stringify(toProduct(id))).join("\n"),
  });
  /** Every feed differs from all others. */
  const writeMarkedFeed = (mark: number) => {
    const lines = skus.map((sku, index) => `${sku},SCRIPT,${index},M${mark}`).join("\n");
    const header = feedFiles["pzlines.csv"].split("\n")[0];
    return writeFeed(folder, "feed", { ...feedFiles, "pzlines.csv": `${header}\n${lines}\n` });
  };
  for (const args of [
    ["products", products],
    ["personalization", await writeMarkedFeed(0)],
  ]) {
    expect(await pds(["import", ...args], environment)).toMatchObject({ code: 0 });
  }
  return { environment, folder, writeMarkedFeed };
}

describe.each([...engines])("on %s", (engine) => {
  const other = engines.find((each) => each !== engine) ?? engine;
  test(`a backup under full load answers byte for byte as the original did (${backups} times)`, async () => {
    const { environment, folder, writeMarkedFeed } = await createOriginal(engine);
    await using original = await serve({ ...environment, MEMORY_MEGABYTES: "0" });
    await using sql = new SQL(environment.DATABASE_URL, { max: 1 });
    if (engine === "sqlite") await sql`PRAGMA busy_timeout = 30000`;
    const restored = { ...environment, DATABASE_URL: await createStore(other) };
    const backup = join(folder, "nightly.backup");
    expect(await pds(["backup", backup], environment)).toMatchObject({ code: 0 });
    expect(await pds(["restore", backup], restored)).toMatchObject({ code: 0 });
    await using cached = await serve(restored);
    await using uncached = await serve({ ...restored, MEMORY_MEGABYTES: "0" });

    const products = new Timeline();
    const personalization = new Timeline();
    const history = new Timeline();
    const load = new AbortController();
    const stops = [
      repeat(async (number) => {
        const beganMs = performance.now();
        await changeProducts(sql, number);
        const endedMs = performance.now();
        products.add(await answersOf(original, productPaths), beganMs, endedMs);
      }),
      repeat(async (number) => {
        const beganMs = performance.now();
        const args = ["import", "personalization", feeds[number % feeds.length] ?? "", "--force"];
        expect(await pds(args, environment)).toMatchObject({ code: 0 });
        const endedMs = performance.now();
        personalization.add(await answersOf(original, personalizationPaths), beganMs, endedMs);
        history.add(await answersOf(original, historyPaths), beganMs, endedMs);
      }),
    ];
    const loaded = runLoad({
      url: original.url,
      paths: [...productPaths, ...personalizationPaths, ...historyPaths].map((path) => `/api/v1/${path}`),
      connections: 4,
      rate: 200,
      signal: load.signal,
    });
    // So that every state was recorded.
    await Bun.sleep(3000);
    let killed = 0;
    for (let count = 0; count < backups; count++) {
      const before = readFileSync(backup);
      const child = Bun.spawn([process.execPath, main, "backup", backup], {
        env: { PATH: "", PDS_CONFIG: "/dev/null", ...environment },
        stdio: ["ignore", "ignore", "ignore"],
      });
      await Promise.race([Bun.sleep(100 + 600 * Math.random()), child.exited]);
      child.kill("SIGKILL");
      await child.exited;
      if (child.signalCode !== null) {
        killed++;
        expect(readFileSync(backup).equals(before)).toBe(true);
      }

      const beganMs = performance.now();
      expect(await pds(["backup", backup], environment)).toMatchObject({ code: 0 });
      const endedMs = performance.now();
      await killRestore(backup, restored);
      expect(await pds(["restore", backup, "--replace"], restored)).toMatchObject({ code: 0 });

      // All states before the end of the backup are recorded.
      await Bun.sleep(500);
      const found = [];
      for (const [timeline, paths] of [
        [products, productPaths],
        [personalization, personalizationPaths],
        [history, historyPaths],
      ] as const) {
        const answers = await answersOf(uncached, paths);
        await untilEqual(() => answersOf(cached, paths), answers, 30_000);
        let state = timeline.find(answers);
        for (let wait = 0; state === undefined && wait < 200; wait++) {
          await Bun.sleep(100);
          state = timeline.find(answers);
        }
        expect({ paths, answers, isKnown: state !== undefined }).toMatchObject({ isKnown: true });
        if (state !== undefined) found.push(state);
      }
      // One instant, within the backup, at which the original can have answered all of that.
      const fromMs = Math.max(beganMs, ...found.map((state) => state.fromMs));
      const untilMs = Math.min(endedMs, ...found.map((state) => state.untilMs));
      expect({ found, beganMs, endedMs, isOneInstant: fromMs <= untilMs }).toMatchObject({ isOneInstant: true });
    }
    load.abort();
    await Promise.all(stops.map((stop) => stop()));
    const { failures, requests } = await loaded;
    expect(failures).toEqual({});
    if (isCampaign) process.stdout.write(`${engine}: ${backups} backups, ${killed} killed, ${requests} requests\n`);
  }, 3_600_000);
});

/** A restore that is killed leaves one of the two stores. */
async function killRestore(backup: string, restored: { readonly DATABASE_URL: string }): Promise<void> {
  const child = Bun.spawn([process.execPath, main, "restore", backup, "--replace"], {
    env: { PATH: "", PDS_CONFIG: "/dev/null", ...restored },
    stdio: ["ignore", "ignore", "ignore"],
  });
  await Promise.race([Bun.sleep(100 + 900 * Math.random()), child.exited]);
  child.kill("SIGKILL");
  await child.exited;
  await endLeases(restored.DATABASE_URL);
}
