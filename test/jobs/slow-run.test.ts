import { expect, test } from "bun:test";
import { join } from "node:path";
import { connectTo, createMigratedStore, enginesOf, pds, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

const minuteMs = 60_000;
test.each(enginesOf("sqlite"))("on %s, metrics, console, and pds check name a slow run", async (engine) => {
  const url = await createMigratedStore(engine);
  const folder = await temporaryFolder();
  await writeFiles(folder, {
    "pds.toml": 'brand = "acme"\n\n[jobs.catalog-import]\nsource = ["products.ndjson"]\n',
    "products.ndjson": "",
  });
  await using sql = await connectTo(url);
  const ago = (minutes: number) => new Date(Date.now() - minutes * minuteMs).toISOString();
  for (const minutes of [300, 200, 100]) {
    await sql`INSERT INTO run (job, brand, started_at, finished_at, outcome)
      VALUES ('catalog-import', 'acme', ${ago(minutes)}, ${ago(minutes - 15)}, 'succeeded')`;
  }
  await sql`INSERT INTO run (job, brand, started_at, lease_until, lease_seconds)
    VALUES ('catalog-import', 'acme', ${ago(40)}, ${ago(-60)}, 3600)`;
  const environment = { DATABASE_URL: url, PDS_CONFIG: join(folder, "pds.toml"), SCHEDULER: "off" };
  await using service = await serve(environment, folder);
  const load = async (path: string) => await (await fetch(service.adminUrl + path)).text();
  const gauge = 'pds_job_slow{job="catalog-import",brand="acme"}';
  const words = /catalog-import (for|of) acme has been running (for|since) .*far longer than/;
  expect(await load("/metrics")).toContain(`${gauge} 0\n`);
  expect(await load("/")).not.toMatch(words);
  expect((await pds(["check"], environment, folder)).stderr).not.toMatch(words);

  await sql`UPDATE run SET started_at = ${ago(50)} WHERE finished_at IS NULL`;
  await until("metrics say so", async () => (await load("/metrics")).includes(`${gauge} 1\n`));
  const overview = await load("/");
  expect(overview).toMatch(words);
  expect(overview).toContain("unusually long");
  expect((await pds(["check"], environment, folder)).stderr).toMatch(words);
});
