import { afterAll, describe, expect, test } from "bun:test";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { jsonOf } from "../support/command-output.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { connectTo, createStore, enginesOf, main, pds, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { countPlatformRequests, environmentOf, startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

// The history's `counts`: what a run changed or confirmed as served.
const folder = await temporaryFolder();
const rows = 200_000;
const lines = (prefix: string) => [
  "sku_id,style_code,style_display_seq,style_sku_status",
  ...Array.from({ length: rows }, (_, index) => `${prefix}-${index},SCRIPT,1,A`),
];
const [small, large, broken] = await Promise.all([
  writeFeed(folder, "small"),
  // It takes a while to load, so that a run can be stopped in the middle.
  writeFeed(folder, "large", { ...feedFiles, "pzlines.csv": lines("SKU").join("\n") }),
  writeFeed(folder, "broken", { ...feedFiles, "pzlines.csv": `${feedFiles["pzlines.csv"]}X,,1,A\n` }),
]);
const products = (count: number) =>
  Array.from({ length: count }, (_, index) => `${toJson(toProduct(index + 1))}\n`).join("");
const [goodProducts = "", brokenProducts = "", limited = "", syncing = ""] = await writeFiles(folder, {
  "good.ndjson": products(2),
  // More than one batch is right before the first that is not.
  "broken.ndjson": `${products(250)}{"id": "x"}\n`,
  "limited.toml": `[jobs.personalization-import]\nsource = "${large}"\nsettle_seconds = 0\nlimit_seconds = 3\n`,
  "syncing.toml": "[jobs.catalog-sync]\n",
});

describe.each([...enginesOf("sqlite")])("on %s, the history counts", async (engine) => {
  const store = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
  const service = await serve(store);
  afterAll(() => service.stop());
  const sql = await connectTo(store.DATABASE_URL);
  afterAll(() => sql.close());

  /** Returns the count of the newest run as the operation reports it. */
  async function newestCounts(outcome: string): Promise<number> {
    const [run] = await sql`SELECT counts, outcome FROM run ORDER BY id DESC LIMIT 1`;
    expect(run.outcome).toBe(outcome);
    const [{ finished }] = await sql`SELECT count(*) AS finished FROM run WHERE finished_at IS NOT NULL`;
    const { histories } = await jsonOf(["history"], store);
    expect(histories[0]).toMatchObject({ outcome, counts: run.counts });
    const served = async () => {
      const response = await service.get("/api/v1/histories/desc");
      return ((await response.json()) as { histories: { counts: number }[] }).histories;
    };
    await until("the run is in the answer", async () => (await served()).length === Math.min(10, Number(finished)));
    return (await served())[0]?.counts ?? -1;
  }

  /** Starts a command and interrupts it like Ctrl+C once it has made some progress. */
  async function interrupt(
    args: readonly string[],
    isTime: () => Promise<boolean> | boolean,
    environment: object,
  ): Promise<{ counts: number; accepted: number }> {
    const child = Bun.spawn([process.execPath, main, ...args], {
      env: { PATH: "", PDS_CONFIG: "/dev/null", ...store, ...environment },
      stdio: ["ignore", "pipe", "ignore"],
    });
    // Loading takes a fraction of a second.
    while (child.exitCode === null && !(await isTime())) await Bun.sleep(1);
    child.kill("SIGINT");
    const [stdout, code] = await Promise.all([child.stdout.text(), child.exited]);
    // On a busy machine it may have ended before it was interrupted.
    if (code === 0) return await interrupt(args, isTime, environment);
    expect(code).toBe(130);
    return JSON.parse(stdout);
  }

  /** Lets the next run begin, but not store anything until the result is called. */
  async function holdRunAfter(last: number): Promise<() => Promise<void>> {
    await until("a run has begun", async () => (await sql`SELECT 1 FROM run WHERE id > ${last}`).length > 0);
    const holder = await connectTo(store.DATABASE_URL);
    await holder.unsafe(engine === "sqlite" ? "BEGIN IMMEDIATE" : "BEGIN");
    if (engine === "postgres") await holder`LOCK TABLE generation IN EXCLUSIVE MODE`;
    return async () => {
      await holder.unsafe("ROLLBACK");
      await holder.close();
    };
  }

  /** All rows have been read by then. */
  const isLoading = async () => {
    return (await sql`SELECT 1 FROM generation WHERE state = 'loading'`).length > 0;
  };

  test.each([
    ["products", goodProducts, 2],
    ["personalization", small, 12],
  ])("everything that an import of %s loaded", async (what, source, counts) => {
    expect((await pds(["import", what, source], store)).code).toBe(0);
    expect(await newestCounts("succeeded")).toBe(counts);
  });

  test.each([
    ["products", brokenProducts, 250],
    ["personalization", broken, 12],
  ])("nothing for an import of %s that fails", async (what, source, accepted) => {
    for (const options of [["--dry-run"], []]) {
      const { code, stdout } = await pds(["import", what, source, "--json", ...options], store);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ counts: 0, accepted });
    }
    expect(await newestCounts("failed")).toBe(0);
  });

  test("nothing for an interrupted import, although it read many rows", async () => {
    const report = await interrupt(["import", "personalization", large, "--force", "--json"], isLoading, {});
    expect(report.accepted).toBeGreaterThanOrEqual(10_000);
    expect(report.counts).toBe(0);
    expect(await newestCounts("failed")).toBe(0);
  });

  test("nothing for an import that exceeds its time limit", async () => {
    const [{ last }] = await sql`SELECT max(id) AS last FROM run`;
    const running = pds(["run", "personalization-import"], { ...store, PDS_CONFIG: limited });
    const release = await holdRunAfter(last);
    // The limit is over by then.
    await Bun.sleep(4000);
    await release();
    expect((await running).code).toBe(1);
    expect(await newestCounts("failed")).toBe(0);
    const [{ reason }] = await sql`SELECT reason FROM run ORDER BY id DESC LIMIT 1`;
    expect(reason).toBe("it exceeded its time limit of 3 s");
  });

  test("the products that a sync wrote before it was interrupted", async () => {
    await sql`DELETE FROM product`;
    const platform = startPlatform({ products: 250 });
    const environment = { ...environmentOf(platform), PDS_CONFIG: syncing };
    const isReading = () => countPlatformRequests(platform, "ProductById") >= 40;
    await interrupt(["run", "catalog-sync", "--json"], isReading, environment);
    const counts = await newestCounts("failed");
    const stored = (await sql`SELECT id FROM product`).length;
    expect(counts).toBeGreaterThan(0);
    // Six are read at once: those under way when it stops may still be written.
    expect(counts).toBeWithin(stored - 5, stored + 1);
  });
});
