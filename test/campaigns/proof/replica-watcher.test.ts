import { expect, test } from "bun:test";
import { ReplicaWatcher } from "../../proof/replica-watcher.ts";
import { createStore, serve } from "../../support/pds.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const name = "pds_http_request_duration_seconds_count";

test("the responses of a replica are added up by status, also after it was started again", async () => {
  let text = "";
  let reads = 0;
  const origin = startServer(() => {
    reads++;
    return new Response(text);
  });
  const show = async (...lines: string[]) => {
    text = lines.join("\n");
    const before = reads;
    await until("the watcher has read it", () => reads > before + 1);
  };
  const watcher = new ReplicaWatcher([{ adminUrl: origin }]);
  await show(
    `${name}{route="/api/v1/products/:id",method="GET",status="200"} 40`,
    `${name}{route="/api/v1/products/pz/:sku",method="GET",status="500"} 1`,
    `${name}{route="/readyz",method="GET",status="503"} 7`,
  );
  await show(
    `${name}{route="/api/v1/products/:id",method="GET",status="200"} 41`,
    `${name}{route="/api/v1/products/:id",method="GET",status="500"} 2`,
    `${name}{route="/api/v1/products/pz/:sku",method="GET",status="500"} 1`,
  );
  await show(`${name}{route="/api/v1/products/:id",method="GET",status="503"} 5`);
  await watcher.stop();
  expect([200, 500, 503].map((status) => watcher.get(status))).toEqual([41, 3, 5]);
  expect(watcher.defects).toBe(3);
});

test("the metrics of the service have the responses by status", async () => {
  await using service = await serve({ DATABASE_URL: await createStore("sqlite") });
  const watcher = new ReplicaWatcher([service]);
  for (let count = 0; count < 3; count++) await service.get("/api/v1/histories");
  await watcher.stop();
  expect(watcher.get(200)).toBe(3);
});
