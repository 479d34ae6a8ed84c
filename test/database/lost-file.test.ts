import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { openDatabase } from "../../src/database/index.ts";
import { findRun } from "../../src/jobs/runs.ts";
import { toProduct } from "../support/catalog.ts";
import { importHere } from "../support/import-here.ts";
import { serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

test("a service notices that the file of its SQLite store was removed, and that it is back", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "pds.sqlite");
  const environment = { DATABASE_URL: `sqlite:${path}` };
  const [products = ""] = await writeFiles(folder, {
    "products.ndjson": [1, 2].map((id) => toJson(toProduct(id))).join("\n"),
  });
  await importHere(["import", "products", products], environment);
  await using service = await serve(environment);
  const isReachable = async () => (await (await service.get("/readyz")).text()).includes('"database":"ok"');
  expect((await service.get("/api/v1/products/1")).headers.get("age")).toBeNull();
  expect((await service.get("/api/v1/products/404")).status).toBe(404);

  await rename(path, `${path}.away`);
  const statuses = new Set<number>();
  const isOld = async (address: string) => {
    const { status, headers } = await service.get(address);
    statuses.add(status);
    return headers.has("age");
  };
  // First, because that a product is missing is cached for a few seconds only.
  await until("the missing product has an age", () => isOld("/api/v1/products/404"));
  expect([...statuses]).toEqual([404]);
  await until("it is missed", async () => !(await isReachable()));
  const message = `${path} was removed or replaced; put it back, or restart the service`;
  await until("the log says so", () => service.log().includes(message));
  await until("cached responses have an age", () => isOld("/api/v1/products/1"));
  const uncached = await service.get("/api/v1/products/2");
  expect([uncached.status, uncached.headers.has("retry-after")]).toEqual([503, true]);

  await rename(`${path}.away`, path);
  await until("it is back", isReachable);
  expect((await service.get("/api/v1/products/2")).status).toBe(200);
});

test.if(process.platform === "linux")(
  "a process keeps its lock on the file when it opens another connection",
  async () => {
    const path = join(await temporaryFolder(), "pds.sqlite");
    const first = await openDatabase(`sqlite:${path}`, "serving");
    await findRun(first, 1);
    const { ino } = statSync(path);
    const listLocks = () =>
      readFileSync("/proc/locks", "utf8")
        .split("\n")
        .filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${ino} `));
    expect(listLocks()).not.toEqual([]);
    const second = await openDatabase(`sqlite:${path}`, "background");
    // Without it, another program that closes the file takes its log away from this process.
    expect(listLocks()).not.toEqual([]);
    await Promise.all([first.close(0), second.close(0)]);
  },
);
