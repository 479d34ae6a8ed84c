import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { SQL } from "bun";
import { toJson } from "../../src/base/json.ts";
import { changeProduct, toProduct } from "../support/catalog.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { runLoad } from "../support/load.ts";
import {
  begin,
  connectTo,
  createStore,
  type Environment,
  isCampaign,
  pds,
  type RunningService,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { startPurgeProvider } from "../support/purge-provider.ts";
import { until } from "../support/until.ts";

// Backups are taken while requests, imports, and changes of all products go on. Each is served, and what it
// answers is compared with what the original answered. On PostgreSQL, they are those of its own tools.

const backups = isCampaign ? 100 : 3;
const ids = Array.from({ length: 20 }, (_, index) => index + 1);
const skus = Array.from({ length: 500 }, (_, index) => `SKU-${index}`);
const productPaths = ids.map((id) => `products/${id}`);
const personalizationPaths = skus.filter((_, index) => index % 20 === 0).map((sku) => `products/pz/${sku}`);
const historyPaths = ["histories/desc", "histories/asc"];

const allPaths = [...productPaths, ...personalizationPaths, ...historyPaths];

type Answers = readonly string[];

/** Status, entity tag, and body at each path. */
const answersOf = ({ get }: RunningService, paths: readonly string[]): Promise<Answers> =>
  Promise.all(
    paths.map(async (path) => {
      const response = await get(`/api/v1/${path}`);
      return `${path} ${response.status} ${response.headers.get("etag")} ${await response.text()}`;
    }),
  );

interface State {
  /** When the original can have answered so. */
  readonly fromMs: number;
  untilMs: number;
  readonly answers: Answers;
}

/** What the original answered at some paths after each change. */
class Timeline {
  readonly #paths: readonly string[];
  readonly #states: State[] = [];

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  get isEmpty(): boolean {
    return this.#states.length === 0;
  }

  /** Records what the original answers after a change, until the next one begins. */
  async add(original: RunningService, beganMs: number, endedMs: number): Promise<void> {
    const last = this.#states.at(-1);
    if (last !== undefined) last.untilMs = endedMs;
    let answers: Answers = [];
    // On a busy machine, the store may count as unreachable for a while.
    await until("the original reads its store", async () => {
      answers = await answersOf(original, this.#paths);
      return !answers.some((answer) => answer.includes(" 503 "));
    });
    this.#states.push({ fromMs: beganMs, untilMs: Number.POSITIVE_INFINITY, answers });
  }

  /** Finds the state in which the original answered so. It is recorded soon, if at all. */
  async find(all: Answers): Promise<State> {
    const own = all.filter((answer) => this.#paths.some((path) => answer.startsWith(`${path} `)));
    const find = () => this.#states.findLast(({ answers }) => Bun.deepEquals(answers, own));
    await until(`the original has answered ${own.join("\n")}`, () => find() !== undefined);
    return find() as State;
  }
}

/** A loop that goes on until it is stopped. */
function repeat(step: (number: number) => Promise<void>) {
  let isStopped = false;
  const running = (async () => {
    for (let number = 1; !isStopped; number++) await step(number);
  })();
  // It fails the test when it is stopped, or before by what it no longer does.
  running.catch((error) => process.stderr.write(`${error}\n`));
  const stop = () => {
    isStopped = true;
    return running;
  };
  return { stop, [Symbol.asyncDispose]: () => stop().catch(() => {}) };
}

/** Changes all products in one transaction. */
async function changeProducts(sql: SQL, mark: number): Promise<void> {
  await sql.begin("IMMEDIATE", async (transaction) => {
    for (const id of ids) {
      await changeProduct(transaction, toProduct(id, { title: `Mark ${mark}`, body_html: "x".repeat(mark % 97) }));
    }
  });
}

async function createOriginal(url: string) {
  const environment = { DATABASE_URL: url, BRAND: "acme", SCHEDULER: "off" };
  const folder = await temporaryFolder();
  const [products = ""] = await writeFiles(folder, {
    "products.ndjson": ids.map((id) => toJson(toProduct(id))).join("\n"),
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

test(`a backup under full load answers byte for byte as the original did (${backups} times)`, async () => {
  const { environment, folder, writeMarkedFeed } = await createOriginal(await createStore("sqlite"));
  await using original = await serve({ ...environment, MEMORY_MEGABYTES: "0" });
  const timelines = {
    products: new Timeline(productPaths),
    personalization: new Timeline(personalizationPaths),
    history: new Timeline(historyPaths),
  };
  const all = Object.values(timelines);
  await using sql = await connectTo(environment.DATABASE_URL);
  await using changes = repeat(async (number) => {
    const beganMs = performance.now();
    await changeProducts(sql, number);
    await timelines.products.add(original, beganMs, performance.now());
  });
  await using imports = repeat(async (number) => {
    const feed = await writeMarkedFeed(number);
    const beganMs = performance.now();
    expect(await pds(["import", "personalization", feed, "--force"], environment)).toMatchObject({ code: 0 });
    const endedMs = performance.now();
    await timelines.personalization.add(original, beganMs, endedMs);
    await timelines.history.add(original, beganMs, endedMs);
  });
  // A store that takes more than a second counts as unreachable, and a busy machine may be slower.
  const paths = allPaths.map((path) => ({ path: `/api/v1/${path}`, statuses: [200, 503] }));
  const load = new AbortController();
  const loaded = runLoad({ url: original.url, paths, connections: 4, rate: 200, signal: load.signal });
  // Earlier states are not recorded.
  await until("states are recorded", () => all.every(({ isEmpty }) => !isEmpty), 120_000);

  let killed = 0;
  for (let count = 0; count < backups; count++) {
    const never = join(folder, "killed.backup");
    if (await kill(["backup", never], environment, 600 * Math.random())) killed++;
    // The backup may have been complete before the kill.
    if (existsSync(never)) await (await serve({ ...environment, DATABASE_URL: `sqlite:${never}` })).stop();
    for (const name of readdirSync(folder).filter((each) => each.startsWith("killed"))) await rm(join(folder, name));

    const backup = join(folder, `${count}.backup`);
    const beganMs = performance.now();
    expect(await pds(["backup", backup], environment)).toMatchObject({ code: 0 });
    const endedMs = performance.now();
    await using copy = await serve({ ...environment, DATABASE_URL: `sqlite:${backup}` });
    const answers = await answersOf(copy, allPaths);
    // There is one instant within the backup at which the original can have answered all of that.
    const states = await Promise.all(all.map((timeline) => timeline.find(answers)));
    const fromMs = Math.max(beganMs, ...states.map((state) => state.fromMs));
    const untilMs = Math.min(endedMs, ...states.map((state) => state.untilMs));
    expect({ states, beganMs, endedMs, isOneInstant: fromMs <= untilMs }).toMatchObject({ isOneInstant: true });
  }
  load.abort();
  await Promise.all([changes.stop(), imports.stop()]);
  const { failures, requests } = await loaded;
  expect(failures).toEqual({});
  if (isCampaign) process.stdout.write(`${backups} backups, ${killed} killed, ${requests} requests\n`);
}, 3_600_000);

/** Of the newest PostgreSQL that Debian has installed: the one from npm has no `pg_dump`. */
const debian = "/usr/lib/postgresql";
const programs = existsSync(debian) ? join(debian, readdirSync(debian).toSorted().at(-1) ?? "", "bin") : undefined;

test.skipIf(programs === undefined)(
  "what pg_dump wrote is served by all replicas, and the CDN is purged",
  async () => {
    process.env.TEST_POSTGRES_PROGRAMS = programs;
    const server = await createPostgres().finally(() => delete process.env.TEST_POSTGRES_PROGRAMS);
    try {
      const run = async (program: string, ...args: string[]) => {
        const child = Bun.spawn([join(programs ?? "", program), ...args], { stdio: ["ignore", "ignore", "pipe"] });
        const [message, code] = await Promise.all([child.stderr.text(), child.exited]);
        expect({ program, code, message }).toMatchObject({ code: 0 });
      };
      const { environment, folder } = await createOriginal(server.url);
      const provider = startPurgeProvider("varnish");
      const [PDS_CONFIG = ""] = await writeFiles(folder, { "pds.toml": `[purge]\nurl = "${provider.url}"\n` });
      const start = (url: string) => serve({ ...environment, DATABASE_URL: url, PDS_CONFIG, CDN: "varnish" });
      const isPurged = () =>
        ["product", "personalization"].every((kind) => provider.purges.some(({ tags }) => tags.includes(kind)));
      const [one, two] = [await start(server.url), await start(server.url)];
      await until("the CDN is purged at first", isPurged);
      const before = await answersOf(one, allPaths);
      const dump = join(folder, "nightly.dump");
      await run("pg_dump", "--format=custom", `--file=${dump}`, server.url);
      await using sql = await connectTo(server.url);
      await sql`DELETE FROM product WHERE id = 1`;
      await until("the change is served", async () => !Bun.deepEquals(await answersOf(two, allPaths), before));
      await Promise.all([one.stop(), two.stop()]);

      await sql.unsafe("CREATE DATABASE restored");
      const restored = Object.assign(new URL(server.url), { pathname: "/restored" }).href;
      await run("pg_restore", "--exit-on-error", "--no-owner", `--dbname=${restored}`, dump);
      await run(
        "psql",
        restored,
        "--command",
        "DELETE FROM purge_target; DELETE FROM lease; DELETE FROM operator_session",
      );
      provider.purges.length = 0;
      await using third = await start(restored);
      await using fourth = await start(restored);
      for (const replica of [third, fourth]) expect(await answersOf(replica, allPaths)).toEqual(before);
      await until("the CDN is purged", isPurged);
      await using target = await connectTo(restored);
      await changeServed(target, [third, fourth]);
    } finally {
      await server.remove();
    }
  },
  600_000,
);

/** Changes a product, and waits until all replicas serve it. */
async function changeServed(sql: SQL, replicas: readonly RunningService[]): Promise<void> {
  await changeProduct(sql, toProduct(2, { title: "Afterward" }));
  for (const { get } of replicas) {
    await until("it is served", async () => (await (await get("/api/v1/products/2")).text()).includes("Afterward"));
  }
}

/** @returns whether the command was killed before it ended */
async function kill(args: readonly string[], environment: Environment, afterMs: number): Promise<boolean> {
  const child = begin(args, environment);
  await Promise.race([Bun.sleep(afterMs), child.exited]);
  child.kill("SIGKILL");
  await child.exited;
  return child.signalCode !== null;
}
