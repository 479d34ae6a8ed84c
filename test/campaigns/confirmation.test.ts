import { expect, test } from "bun:test";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { createFetch } from "../../src/outgoing.ts";
import { PurgeCounter } from "../../src/purge/counter.ts";
import { followChanges } from "../../src/purge/follower.ts";
import { createTargets } from "../../src/purge/targets.ts";
import { cleanUp } from "../support/clean-up.ts";
import { findFreePort } from "../support/free-port.ts";
import { connectTo, createMigratedStore, temporaryFolder, writeFiles } from "../support/pds.ts";
import { startProxy } from "../support/proxy.ts";
import { startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";
import { startVarnish, varnishd } from "../support/varnish.ts";

// Varnish with the documented configuration, purged by the service: its way to the store is slow, or a
// replica is held up.

test.skipIf(varnishd === null)("a slow answer of the store does not confirm what has changed meanwhile", async () => {
  let version = 1;
  const origin = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) =>
      new Response(url.includes("/api/") ? `v${version}` : "ok", {
        headers: { "Surrogate-Control": "public, max-age=86400", xkey: "product product-1" },
      }),
  });
  cleanUp(() => origin.stop(true));
  const { url } = await startVarnish([origin.port ?? 0], await findFreePort());
  const read = async () => {
    const response = await fetch(`${url}/api/v1/products/1`);
    return { text: await response.text(), age: response.headers.get("age") };
  };

  const storeUrl = await createMigratedStore("postgres");
  const link = await startProxy(storeUrl);
  const database = await openDatabase(link.url, "scheduling");
  const stopping = new AbortController();
  const following = followChanges({
    database,
    holder: "test",
    targets: createTargets({ cdn: "varnish", url, soft: false, max_age: 86_400 }, ""),
    form: "a",
    counter: new PurgeCounter(),
    log: { warn: () => {}, info: () => {} } as never,
    fetch: createFetch(),
    signal: stopping.signal,
    onSettled: () => {},
  });
  cleanUp(async () => {
    stopping.abort();
    await following;
    await closeDatabase(database);
  });
  const isConfirmed = async () => (await read()).age === null;
  await until("Varnish is confirmed to be current", isConfirmed);

  const release = link.holdNext();
  await until("the confirmation has expired", async () => !(await isConfirmed()));
  version = 2;
  await using sql = await connectTo(storeUrl);
  await sql`INSERT INTO product ${sql([{ id: 1, document: "{}", tag: "", updated_at: "" }])}`;
  // A response that is older than that must have an age.
  await Bun.sleep(1000);
  release();
  const withoutAge: string[] = [];
  await until("the change is purged", async () => {
    const { text, age } = await read();
    if (text === "v1" && age === null) withoutAge.push(text);
    return text === "v2";
  });
  expect(withoutAge).toEqual([]);
  await until("Varnish is confirmed again", isConfirmed);
});

test.skipIf(varnishd === null)("what a replica that was held up served does not count as current", async () => {
  const storeUrl = await createMigratedStore("postgres");
  await using sql = await connectTo(storeUrl);
  await sql`INSERT INTO product ${sql([{ id: 1, document: '{"v":1}', tag: "v1", updated_at: "" }])}`;
  const environment = { DATABASE_URL: storeUrl, CDN: "varnish", VISIBLE: "all" };
  await using replica = await startService(environment);
  const { url } = await startVarnish([Number(new URL(replica.url).port)], await findFreePort());
  const [config = ""] = await writeFiles(await temporaryFolder(), { "pds.toml": `[purge]\nurl = "${url}"\n` });
  await using purger = await startService({ ...environment, PDS_CONFIG: config });
  const read = async () => {
    const response = await fetch(`${url}/api/v1/products/1`);
    return { text: await response.text(), age: response.headers.get("age") };
  };
  const isConfirmed = async () => (await read()).age === null;
  await until("Varnish is confirmed to be current", isConfirmed);
  const isPurged = async (number: number) => {
    const [row] = await sql<{ state: string }[]>`SELECT state FROM purge_target`;
    return JSON.parse(row?.state ?? "{}").first >= number;
  };

  // Until the replica was held up just long enough that Varnish keeps its old response.
  let heldUp = 0;
  for (let version = 2; heldUp === 0 && version < 30; version++) {
    await until("Varnish has a response that counts as current", isConfirmed);
    replica.process.kill("SIGSTOP");
    await sql`UPDATE product SET document = ${`{"v":${version}}`}, tag = ${`v${version}`} WHERE id = 1`;
    const [newest] = await sql<{ number: number }[]>`SELECT max(id) AS number FROM change`;
    await until("the change is purged", () => isPurged(newest?.number ?? 0));
    const reading = read();
    // Its requests are there when it goes on.
    await Bun.sleep(50);
    replica.process.kill("SIGCONT");
    await reading;
    await until("the second purge has removed the old response", async () => {
      const { text, age } = await read();
      if (text.includes(`"v":${version}`)) return true;
      heldUp++;
      expect(age).not.toBeNull();
      return false;
    });
  }
  expect(heldUp).toBeGreaterThan(0);
  await purger.end("SIGTERM");
});
