import { expect, test } from "bun:test";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { PurgeCounter } from "../../src/purge/counter.ts";
import { followChanges } from "../../src/purge/follower.ts";
import { createTargets } from "../../src/purge/targets.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createMigratedStore } from "../support/pds.ts";
import { purgeToken, zone } from "../support/purge-provider.ts";
import { until } from "../support/until.ts";

test("a purge is repeated as long after a slow refusal as the provider says", async () => {
  const receivedMs: number[] = [];
  let refusedMs = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async () => {
      if (receivedMs.push(performance.now()) > 1) return Response.json({ success: true });
      await Bun.sleep(1500);
      refusedMs = performance.now();
      return new Response("{}", { status: 429, headers: { "Retry-After": "2" } });
    },
  });
  cleanUp(() => server.stop(true));
  const database = await openDatabase(await createMigratedStore("sqlite"));
  const stopping = new AbortController();
  const { signal } = stopping;
  const following = followChanges({
    database,
    targets: createTargets(
      { cdn: "cloudflare", zone, plan: "pro", api_url: server.url.origin, max_age: 86_400 },
      purgeToken,
    ),
    form: "a",
    counter: new PurgeCounter(),
    log: { warn: () => {}, info: () => {} } as never,
    signal,
    onSettled: () => {},
  });
  await until("the purge is repeated", () => receivedMs.length > 1, 20_000);
  expect((receivedMs[1] ?? 0) - refusedMs).toBeGreaterThan(1900);
  stopping.abort();
  await following;
  await closeDatabase(database);
});
