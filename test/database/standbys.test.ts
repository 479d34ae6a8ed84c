import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import { toProduct } from "../support/catalog.ts";
import { importHere } from "../support/import-here.ts";
import { migrateStore, type RunningService, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { createStandby } from "../support/standby.ts";
import { until, untilEqual } from "../support/until.ts";

const primary = await createPostgres();
const ids = Array.from({ length: 20 }, (_, index) => 7000 + index);
const [products = ""] = await writeFiles(await temporaryFolder(), {
  "products.ndjson": ids.map((id) => JSON.stringify(toProduct(id))).join("\n"),
});
await migrateStore(primary.url);
expect((await importHere(["import", "products", products], { DATABASE_URL: primary.url })).code).toBe(0);
const standby = await createStandby(primary);
const link = await startProxy(standby.url);
const sql = new SQL(primary.url, { max: 1 });
afterAll(async () => {
  await sql.close();
  await standby.remove();
  await primary.remove();
});

/** Without a cache, so that every request is read from a store. */
const serveUncached = (readUrls: string, environment = {}) =>
  serve({ DATABASE_URL: primary.url, DATABASE_READ_URLS: readUrls, MEMORY_MEGABYTES: "0", ...environment });

let titles = 0;

/** Changes the title of a product at the primary. */
async function retitle(id: number): Promise<string> {
  const title = `Plate, edition ${++titles}`;
  await sql`
    UPDATE product SET tag = ${title}, document = regexp_replace(document, '"title":"Plate[^"]*"', ${`"title":"${title}"`})
    WHERE id = ${id}`;
  return title;
}

async function readTitle(service: RunningService, id: number): Promise<string> {
  const response = await service.get(`/api/v1/products/${id}`);
  const { product } = (await response.json()) as { product: { title: string } };
  return product.title;
}

type Place = "standby" | "behind" | "failed";

async function readCounts({ adminUrl }: RunningService): Promise<Record<Place, number>> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const count = (place: Place) =>
    Number(text.match(new RegExp(`^pds_standby_reads_total{result="${place}"} (\\d+)$`, "m"))?.[1]);
  return { standby: count("standby"), behind: count("behind"), failed: count("failed") };
}

/** Where one more request is read. */
async function findPlace(service: RunningService): Promise<Place | undefined> {
  const before = await readCounts(service);
  await service.get(`/api/v1/products/${ids[0]}`);
  const after = await readCounts(service);
  return (["standby", "behind", "failed"] as const).find((place) => after[place] > before[place]);
}

const untilRead = (service: RunningService, place: Place) =>
  until(`requests are read from: ${place}`, async () => (await findPlace(service)) === place);

test("requests are read from a standby, and history from the primary", async () => {
  await using service = await serveUncached(standby.url);
  await untilRead(service, "standby");
  const before = await readCounts(service);
  for (const id of ids) expect(await readTitle(service, id)).toBe(`Plate ${id}`);
  expect((await service.get("/api/v1/histories")).status).toBe(200);
  expect((await service.get("/api/v1/products/pz/none")).status).toBe(200);
  expect((await service.get("/api/v1/products/1")).status).toBe(404);
  const after = await readCounts(service);
  expect(after.standby - before.standby).toBeGreaterThanOrEqual(ids.length + 2);
  expect({ ...after, standby: 0 }).toEqual({ ...before, standby: 0 });
});

test("a change that this process has seen is never read from a standby that lacks it", async () => {
  await using service = await serveUncached(standby.url);
  await untilRead(service, "standby");
  await standby.pauseReplay();
  try {
    const title = await retitle(7001);
    await untilEqual(() => readTitle(service, 7001), title);
    // From now on the process knows of the change, and the standby never shows it.
    for (let request = 0; request < 50; request++) expect(await readTitle(service, 7001)).toBe(title);
    await untilRead(service, "behind");
  } finally {
    await standby.resumeReplay();
  }
  await untilRead(service, "standby");
});

test("requests succeed while a standby is killed, frozen, or cut off, and use it again afterwards", async () => {
  await using service = await serveUncached(link.url);
  await untilRead(service, "standby");
  const requestAll = async () => {
    for (const id of ids) expect((await service.get(`/api/v1/products/${id}`)).status).toBe(200);
  };
  link.cut();
  await requestAll();
  await untilRead(service, "failed");
  link.heal();
  await untilRead(service, "standby");
  await standby.stop("SIGKILL");
  await requestAll();
  await untilRead(service, "failed");
  await standby.start();
  await untilRead(service, "standby");
});

test("the service starts without its standbys, and warns", async () => {
  await standby.stop();
  await using service = await serveUncached(standby.url);
  expect(await readTitle(service, 7002)).toBe("Plate 7002");
  await until("it warns", () => service.log().includes("a standby is not read"));
  await standby.start();
  await untilRead(service, "standby");
  await until("it says so", () => service.log().includes("a standby is read again"));
});

test("a statement that a standby cannot answer is answered by the primary", async () => {
  await using service = await serveUncached(standby.url);
  await untilRead(service, "standby");
  await standby.pauseReplay();
  try {
    // The log has no change that would tell: a table that the standby does not show yet.
    await sql`ALTER TABLE product RENAME COLUMN document TO content`;
    await sql`ALTER TABLE product RENAME COLUMN content TO document`;
    await sql`ALTER TABLE generation_list RENAME TO list`;
    await standby.resumeReplay();
    await standby.catchUp();
    await standby.pauseReplay();
    await sql`ALTER TABLE list RENAME TO generation_list`;
    expect((await service.get("/api/v1/products/pz/any")).status).toBe(200);
  } finally {
    await standby.resumeReplay();
    await standby.catchUp();
  }
});

test("while the primary is lost, what is not cached is read from a standby, with its age", async () => {
  const toPrimary = await startProxy(primary.url);
  await using service = await serve({ DATABASE_URL: toPrimary.url, DATABASE_READ_URLS: standby.url });
  await untilRead(service, "standby");
  toPrimary.cut();
  await until("the store is unreachable", () => service.log().includes("the store is unreachable"));
  const response = await service.get("/api/v1/products/7003");
  expect(response.status).toBe(200);
  expect(Number(response.headers.get("age"))).toBeGreaterThanOrEqual(1);
  const missing = await service.get("/api/v1/products/1");
  expect(missing.status).toBe(404);
  expect(Number(missing.headers.get("age"))).toBeGreaterThanOrEqual(1);
  // History is in no change log.
  const history = await service.get("/api/v1/histories");
  expect(history.status).toBe(503);
  expect(history.headers.get("retry-after")).not.toBeNull();
  const title = await retitle(7003);
  toPrimary.heal();
  await untilEqual(() => readTitle(service, 7003), title);
  expect((await service.get("/api/v1/products/7003")).headers.get("age")).toBeNull();
});
