import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { toProduct } from "../support/catalog.ts";
import { importHere } from "../support/import-here.ts";
import { isCampaign, migrateStore, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { createStandby } from "../support/standby.ts";
import { until } from "../support/until.ts";

// Three services read from two standbys, while everything changes and one fault follows the other.
// No response may be older than a second and its `Age`, or mix two states.

const rounds = isCampaign ? 6 : 1;
/** How long each state of the world lasts. */
const stateMs = isCampaign ? 5000 : 1500;
const changePauseMs = 50;
const importPauseMs = 1000;
const readersPerService = 2;

const primary = await createPostgres();
const folder = await temporaryFolder();
const ids = Array.from({ length: 20 }, (_, index) => 8000 + index);
const [products = ""] = await writeFiles(folder, {
  "products.ndjson": ids.map((id) => JSON.stringify(toProduct(id, { title: "version 0" }))).join("\n"),
});
const skus = ["SKU-0", "SKU-1", "SKU-2"];
const environment = { DATABASE_URL: primary.url };
await migrateStore(primary.url);
expect((await importHere(["import", "products", products], environment)).code).toBe(0);
await importVersion(0);

const standbys = [await createStandby(primary), await createStandby(primary)] as const;
const links = [await startProxy(standbys[0].url), await startProxy(standbys[1].url)] as const;
const sql = new SQL(primary.url, { max: 1 });
afterAll(async () => {
  await sql.close();
  for (const standby of standbys) await standby.remove();
  await primary.remove();
});

/** Imports a feed in which every row has the version. */
async function importVersion(version: number): Promise<void> {
  const feed = join(folder, "feed");
  await Bun.write(
    join(feed, "pzlines.csv"),
    `sku_id,style_code,style_display_seq,style_sku_status\n${skus.map((sku) => `${sku},S${version},1,A`).join("\n")}\n`,
  );
  await Bun.write(
    join(feed, "pzstyles.csv"),
    `style_code,line_status,line_display_seq,choice_type,instruct_text\nS${version},A,1,C${version},version ${version}\n`,
  );
  await Bun.write(
    join(feed, "pzchoices.csv"),
    `choice_type,choice_status,choice_display_seq,choice_value\nC${version},A,1,version ${version}\n`,
  );
  expect((await importHere(["import", "personalization", feed, "--force"], environment)).code).toBe(0);
}

/** When each version of a key was certainly committed, by `performance.now()`. */
const committed = new Map<string, number[]>();
const noteCommit = (key: string) => {
  const times = committed.get(key) ?? [0];
  times.push(performance.now());
  committed.set(key, times);
};

async function changeProducts(signal: AbortSignal): Promise<void> {
  for (let change = 0; !signal.aborted; change++) {
    const id = ids[change % ids.length] ?? 0;
    const version = committed.get(`${id}`)?.length ?? 1;
    await sql`
      UPDATE product SET tag = ${`${id}-${version}`},
        document = regexp_replace(document, '"title":"version [0-9]+"', ${`"title":"version ${version}"`})
      WHERE id = ${id}`;
    noteCommit(`${id}`);
    await Bun.sleep(changePauseMs);
  }
}

async function changePersonalization(signal: AbortSignal): Promise<void> {
  for (let version = 1; !signal.aborted; version++) {
    await importVersion(version);
    noteCommit("personalization");
    await Bun.sleep(importPauseMs);
  }
}

const versionsIn = (text: string) =>
  new Set([...text.matchAll(/version (\d+)|"[SC](\d+)"/g)].map((match) => Number(match[1] ?? match[2])));

const found = { responses: 0, refused: 0, stale: [] as string[], mixed: [] as string[], other: [] as string[] };

/** Paths with the key of what they show. */
function pathOf(request: number): readonly [key: string, path: string] {
  const id = ids[request % ids.length];
  const sku = skus[request % skus.length];
  const paths = [
    [`${id}`, `products/${id}`],
    ["personalization", `products/pz/${sku}`],
    [`${id}`, `products/handle/plate-${id}`],
    ["personalization", `products/pz?${skus.map((each) => `sku=${each}`).join("&")}`],
    ["personalization", `products/form/en/${sku}`],
  ] as const;
  return paths[Math.floor(request / ids.length) % paths.length] ?? paths[0];
}

async function readOne(url: string, request: number): Promise<void> {
  const [key, path] = pathOf(request);
  const beganMs = performance.now();
  const response = await fetch(`${url}/api/v1/${path}`);
  const text = await response.text();
  found.responses++;
  if (response.status === 503 && response.headers.has("retry-after")) {
    found.refused++;
    return;
  }
  if (response.status !== 200) {
    found.other.push(`${path}: ${response.status}`);
    return;
  }
  const versions = versionsIn(text);
  const [version = -1] = versions;
  if (versions.size !== 1) found.mixed.push(`${path}: ${text}`);
  // `Age` is rounded down, and a response without it is less than a second old.
  const ageMs = (Number(response.headers.get("age") ?? 0) + 1) * 1000;
  const overdueMs = beganMs - ageMs - (committed.get(key)?.[version + 1] ?? Number.POSITIVE_INFINITY);
  if (overdueMs > 0) found.stale.push(`${path}: version ${version}, ${Math.round(overdueMs)} ms too old`);
}

async function read(url: string, signal: AbortSignal): Promise<void> {
  for (let request = 0; !signal.aborted; request++) {
    await readOne(url, request);
    await Bun.sleep(5);
  }
}

const [first, second] = standbys;
/** What happens in a round, one after the other. */
const faults: readonly (() => unknown)[] = [
  () => first.pauseReplay(),
  () => second.pauseReplay(),
  () => Promise.all(standbys.map((standby) => standby.resumeReplay())),
  () => first.stop("SIGKILL"),
  () => first.start(),
  () => links[0].cut(),
  () => links[1].cut(),
  () => links.map((link) => link.heal()),
  () => links[0].delay(100),
  () => links[0].delay(0),
];

async function readCounts(adminUrl: string): Promise<number[]> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return ["standby", "behind", "failed"].map((result) =>
    Number(text.match(new RegExp(`^pds_standby_reads_total{result="${result}"} (\\d+)$`, "m"))?.[1]),
  );
}

test("responses from standbys that lag, die, and hang are whole, and at most a second old", async () => {
  const settings = { ...environment, DATABASE_READ_URLS: links.map(({ url }) => url).join(" ") };
  await using cached = await serve(settings);
  await using alsoCached = await serve(settings);
  await using uncached = await serve({ ...settings, MEMORY_MEGABYTES: "0" });
  const services = [cached, alsoCached, uncached];
  const stopping = new AbortController();
  const work = [
    changeProducts(stopping.signal),
    changePersonalization(stopping.signal),
    ...services.flatMap(({ url }) => Array.from({ length: readersPerService }, () => read(url, stopping.signal))),
  ];
  const running = Promise.all(work).finally(() => stopping.abort());
  for (let round = 0; round < rounds && !stopping.signal.aborted; round++) {
    for (const fault of faults) {
      await Bun.sleep(stateMs);
      await fault();
    }
  }
  // All is well in the end.
  const before = await readCounts(uncached.adminUrl);
  await until(
    "standbys are read again",
    async () => ((await readCounts(uncached.adminUrl))[0] ?? 0) > (before[0] ?? 0),
  );
  stopping.abort();
  await running;
  const counts = await Promise.all(services.map(({ adminUrl }) => readCounts(adminUrl)));
  const [standby = 0, behind = 0, failed = 0] = [0, 1, 2].map((place) =>
    counts.reduce((sum, ofService) => sum + (ofService[place] ?? 0), 0),
  );
  process.stderr.write(
    `${found.responses} responses, ${found.refused} refused; reads: ${standby} by standbys, ${behind} by the primary ` +
      `because standbys were behind, ${failed} because they failed\n`,
  );
  expect({ stale: found.stale, mixed: found.mixed, other: found.other }).toEqual({ stale: [], mixed: [], other: [] });
  expect(behind).toBeGreaterThan(0);
  expect(failed).toBeGreaterThan(0);
  expect(standby).toBeGreaterThan(behind + failed);
});
