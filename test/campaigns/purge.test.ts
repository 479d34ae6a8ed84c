import { expect, test } from "bun:test";
import { connectTo, createMigratedStore, enginesOf, isCampaign, temporaryFolder, writeFiles } from "../support/pds.ts";
import { purgeToken, startPurgeProvider, zone } from "../support/purge-provider.ts";
import { type ServiceProcess, startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// Two replicas share a store and purge a provider with a small budget, while products change and one
// of the replicas after the other is killed. Nothing may be forgotten, and the budget must be kept.

const changeCount = Number(process.env.PURGE_CHANGES ?? (isCampaign ? 20_000 : 1500));
const killEveryMs = isCampaign ? 7000 : 2500;
const secondPurgeMs = 5000;

test.each([...enginesOf("postgres")])(
  "on %s, every change is purged twice within the budget, whatever is killed",
  async (engine) => {
    const provider = startPurgeProvider("cloudflare", { bucket: { unit: "request", size: 25, perSecond: 5 } });
    const url = await createMigratedStore(engine);
    await using sql = await connectTo(url);
    const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), {
      "pds.toml": `[purge]\nzone = "${zone}"\nplan = "pro"\napi_url = "${provider.url}"\n`,
    });
    const start = () =>
      startService({
        ...{ PDS_CONFIG, DATABASE_URL: url, CDN: "cloudflare", PURGE_TOKEN: purgeToken },
        ...{ SCHEDULER: "off", LOG_LEVEL: "warn" },
      });
    const replicas: ServiceProcess[] = [await start(), await start()];
    const changes: { readonly tag: string; readonly atMs: number }[] = [];
    let kills = 0;
    let isOver = false;
    const killing = (async () => {
      while (!isOver) {
        await Bun.sleep(killEveryMs * (0.5 + Math.random()));
        const victim = kills++ % replicas.length;
        await replicas[victim]?.end("SIGKILL");
        replicas[victim] = await start();
      }
    })();
    while (changes.length < changeCount) {
      // Now and then more than one request can carry, and sometimes more than the budget can.
      const size = Math.random() < 0.02 ? 4000 : Math.ceil(Math.random() ** 6 * 300);
      const rows = Array.from({ length: Math.min(size, changeCount - changes.length) }, (_, index) => {
        const id = changes.length + index + 1;
        return { id, document: "{}", tag: `${id}`, updated_at: "" };
      });
      for (let from = 0; from < rows.length; from += 1000) {
        const part = rows.slice(from, from + 1000);
        await sql`INSERT INTO product ${sql(part)}`;
        const atMs = performance.now();
        for (const { id } of part) changes.push({ tag: `product-${id}`, atMs });
      }
      await Bun.sleep(Math.random() * 400);
    }
    const findUnsettled = () => {
      const lastMs = new Map<string, number>();
      for (const { tags, atMs } of provider.purges) for (const tag of tags) lastMs.set(tag, atMs);
      const ofAllMs = lastMs.get("product") ?? 0;
      // The purge may have been planned before this process saw the end of the transaction.
      const isSettled = ({ tag, atMs }: (typeof changes)[number]) =>
        Math.max(lastMs.get(tag) ?? 0, ofAllMs) - atMs > secondPurgeMs - 1000;
      return changes.filter((change) => !isSettled(change));
    };
    await until("every change is purged for the second time", () => findUnsettled().length === 0, 120_000);
    isOver = true;
    await killing;
    const wholes = provider.countOf("product");
    process.stderr.write(
      `${engine}: ${changes.length} changes, ${kills} kills, ${provider.purges.length} purges, ${wholes} of all products\n`,
    );
    expect(provider.violations).toEqual([]);
    // At the first start, too.
    expect(wholes).toBeGreaterThanOrEqual(2);
    for (const replica of replicas) await replica.end("SIGTERM");
  },
);
