import { describe, expect, test } from "bun:test";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { createNewVersion } from "../support/new-version.ts";
import {
  connectTo,
  createStore,
  enginesOf,
  isCampaign,
  main,
  pds,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { spawnService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// Two versions share a store under load, while a schedule is due every second.

/** How long they run side by side. */
const sideBySideMs = isCampaign ? 300_000 : 6000;
const folder = await temporaryFolder();
const [products = "", config = ""] = await writeFiles(folder, {
  "products.ndjson": toJson(toProduct(1)),
  "pds.toml": '[jobs.history-retention]\nschedule = "* * * * * *"\nmissed = "all"\n',
});

const newVersion = await createNewVersion();

describe.each([...enginesOf("postgres")])("on %s, two versions on a store", (engine) => {
  test.each([
    ["the older one first", [main, newVersion]],
    ["the newer one first", [newVersion, main]],
  ])(
    "lose no run and no request, %s",
    async (_, programs) => {
      const environment = { DATABASE_URL: await createStore(engine), PDS_CONFIG: config };
      expect(await pds(["import", "products", products], environment)).toMatchObject({ code: 0 });
      await using sql = await connectTo(environment.DATABASE_URL);
      const services: ReturnType<typeof spawnService>[] = [];
      const addressOf = (service: ReturnType<typeof spawnService>) => service.printed().match(/^Public\s+(\S+)$/m)?.[1];
      const addresses: string[] = [];
      let isOver = false;
      /** Requests without a response of 200, by the first line of what came instead. */
      const failed: Record<string, number> = {};
      const load = (async () => {
        while (!isOver) {
          for (const address of addresses) {
            const got = await fetch(`${address}/products/1`).then(
              async (response) => (response.status === 200 ? "" : `${response.status} ${await response.text()}`),
              ({ message }: Error) => message,
            );
            const kind = got.replace(/include this id.*/, "").slice(0, 200);
            if (kind !== "") failed[kind] = (failed[kind] ?? 0) + 1;
          }
          await Bun.sleep(5);
        }
      })();
      for (const program of programs) {
        const service = spawnService([], environment, program);
        services.push(service);
        await until("it listens", () => addressOf(service) !== undefined);
        addresses.push(addressOf(service) ?? "");
        await Bun.sleep(sideBySideMs / 2);
      }
      await Bun.sleep(sideBySideMs / 2);
      isOver = true;
      await load;
      const begun = services.map((service) => service.log().match(/"msg":"run started"/g)?.length ?? 0);
      await Promise.all(services.map((service) => service.end("SIGTERM")));
      const runs = await sql<{ at: string; outcome: string; reason: string | null }[]>`
      SELECT scheduled_at AS at, outcome, reason FROM run WHERE scheduled_at IS NOT NULL ORDER BY scheduled_at`;
      const firstMs = Date.parse(runs[0]?.at ?? "");
      expect(runs.map(({ at }) => at)).toEqual(runs.map((_, index) => new Date(firstMs + index * 1000).toISOString()));
      // The last one may have been stopped with its service.
      const lost = runs.filter(
        ({ outcome, reason }) => outcome !== "succeeded" && reason !== "the service was stopped",
      );
      expect(lost).toEqual([]);
      expect(failed).toEqual({});
      if (isCampaign) for (const count of begun) expect(count).toBeGreaterThan(0);
    },
    900_000,
  );
});
