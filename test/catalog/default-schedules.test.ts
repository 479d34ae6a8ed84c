import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  connectTo,
  createMigratedStore,
  enginesOf,
  pds,
  root,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { environmentOf, getAnswers, readAnswers, startPlatform } from "../support/platform.ts";
import { until, untilEqual } from "../support/until.ts";

// A shop that is connected as docs/how-to/connect-shopify.md says stays up to date.
const guide = readFileSync(join(root, "docs", "how-to", "connect-shopify.md"), "utf8");
const [, snippet = ""] = guide.match(/```toml\n(.*?)```/s) ?? [];
const folder = await temporaryFolder();
const [connected = ""] = await writeFiles(folder, { "connected.toml": snippet });
const reconcile = "[jobs.catalog-reconcile]\nschedule =";
const sync = "[jobs.catalog-sync]\nschedule =";

test.each<[string, string, string[][]]>([
  [
    "as the guide says",
    snippet,
    [
      ["catalog-reconcile", "17,47 * * * * UTC", "default"],
      ["catalog-sync", "*/5 * * * * UTC", "default"],
    ],
  ],
  [
    "in a time zone",
    `${reconcile} "30 2 * * *"\ntime_zone = "America/New_York"\n${sync} "17 3 * * *"\nstale_seconds = 60`,
    [
      ["catalog-reconcile", "30 2 * * * America/New_York", "file"],
      ["catalog-sync", "17 3 * * * UTC", "file"],
    ],
  ],
  [
    "that are off",
    `${reconcile} "off"\n${sync} "off"`,
    [
      ["catalog-reconcile", "off", "file"],
      ["catalog-sync", "off", "file"],
    ],
  ],
  ["of no job", "", []],
])("pds config prints the schedules in force and where each comes from: %s", async (_, text, expected) => {
  const [PDS_CONFIG = ""] = await writeFiles(folder, { "printed.toml": text });
  const shop = { SHOP_DOMAIN: "shop.example", SHOPIFY_ACCESS_TOKEN: "shpat_none" };
  const { stdout } = await pds(["config"], { ...shop, PDS_CONFIG });
  const printed = [...stdout.matchAll(/^jobs\.(\S+)\.schedule +(\S.*?) +(default|file)$/gm)];
  expect(printed.map((found) => found.slice(1))).toEqual(expected);
});

test.each([...enginesOf("sqlite")])(
  "on %s, a shop connected as the guide says is synced repeatedly without a schedule in the file",
  async (engine) => {
    const platform = startPlatform({ products: 20 });
    const store = { DATABASE_URL: await createMigratedStore(engine), BRAND: "acme" };
    await using sql = await connectTo(store.DATABASE_URL);
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
    // The newest time of the five-minute schedule may lie as long before.
    const begunAt = ago(600);
    const succeeded = { brand: "acme", lease_until: "", outcome: "succeeded" };
    for (const [job, seconds, scheduled_at] of [
      ["catalog-reconcile", 60, null],
      ["catalog-sync", 1200, ago(1200)],
    ] as const) {
      const at = { scheduled_at, started_at: ago(seconds), finished_at: ago(seconds) };
      await sql`INSERT INTO run ${sql({ job, ...succeeded, ...at })}`;
    }
    // A replica has followed the schedule since then, so that later times are missed.
    const followed = { job: "catalog-sync", brand: "acme", schedule: "*/5 * * * * UTC", since: ago(1200) };
    await sql`INSERT INTO job_schedule ${sql(followed)}`;
    await using service = await serve({ ...store, ...environmentOf(platform), PDS_CONFIG: connected });
    const listScheduled = () => sql`
      SELECT 1 FROM run WHERE job = 'catalog-sync' AND outcome = 'succeeded' AND scheduled_at > ${begunAt}`;
    await until("the schedule has run it", async () => (await listScheduled()).length > 0);
    const ids = platform.catalog.ids(0, 20);
    await untilEqual(() => getAnswers(service, ids), await readAnswers(platform, ids));
  },
);
