import { describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import { toJson } from "../../src/base/json.ts";
import { fingerprintTag } from "../../src/cdn/headers.ts";
import { fingerprintOf, presentationFingerprint } from "../../src/personalization/fingerprint.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createStore,
  type Environment,
  enginesOf,
  pds,
  serveUntilEnd,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { startPlatform } from "../support/platform.ts";
import { startPurgeProvider } from "../support/purge-provider.ts";
import { startServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { deliver, webhookEnvironment } from "../support/webhooks.ts";

const folder = await temporaryFolder();
const tagOf = (name: string) => fingerprintTag(fingerprintOf(name));
let files = 0;

async function writeSettings(purge: string): Promise<string> {
  const text = `[purge]\n${purge}\n[jobs.catalog-sync]\n[jobs.catalog-reconcile]\nmax_removed_share = 1\n`;
  const [path = ""] = await writeFiles(folder, { [`${files++}.toml`]: text });
  return path;
}

/** A CDN that never keeps a response until it is frozen, and then serves old ones whatever is purged. */
function startEdge() {
  const state = { origin: "", isFrozen: false };
  const kept = new Map<string, { body: ArrayBuffer; init: ResponseInit }>();
  const url = startServer(async (request) => {
    const { pathname } = new URL(request.url);
    let found = state.isFrozen ? kept.get(pathname) : undefined;
    if (found === undefined) {
      const { body, status, headers } = await fetch(state.origin + pathname, {
        headers: request.headers,
        decompress: false,
      });
      found = { body: await new Response(body).arrayBuffer(), init: { status, headers } };
      kept.set(pathname, found);
    }
    return new Response(found.body, found.init);
  });
  return { url, state };
}

const fixtures = await Promise.all(
  enginesOf("sqlite").map(async (engine) => {
    const [varnish, other] = [startPurgeProvider("varnish"), startPurgeProvider("varnish")];
    // A second server that cannot be purged must not hold up the first.
    other.state.isDown = true;
    const platform = startPlatform({ products: 6 });
    const edge = startEdge();
    const environment: Environment = {
      ...webhookEnvironment(platform),
      DATABASE_URL: await createStore(engine),
      PDS_CONFIG: await writeSettings(`url = ["${varnish.url}", "${other.url}"]`),
      BRAND: "acme",
      CDN: "varnish",
      SCHEDULER: "off",
      PUBLIC_URL: edge.url,
    };
    const service = await serveUntilEnd(environment);
    edge.state.origin = service.url;
    return { engine, varnish, other, platform, edge, environment, service };
  }),
);

describe.each(fixtures)("on $engine", ({ engine, varnish, other, platform, edge, environment, service }) => {
  const [synced = "", delivered = "", looked = ""] = platform.catalog.ids(0, 3);
  const handleOf = (id: string) => platform.catalog.findProduct(id)?.handle ?? "";
  const run = async (...args: string[]) => {
    const { code, stderr } = await (/^(run|import)$/.test(args[0] ?? "") ? importHere : pds)(args, environment);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  };
  const importProducts = async (titles: Readonly<Record<number, string>>) => {
    const lines = Object.entries(titles).map(([id, title]) => toJson(toProduct(Number(id), { title })));
    const [path = ""] = await writeFiles(folder, { [`${files++}.ndjson`]: lines.join("\n") });
    await run("import", "products", path, "--force");
  };
  const importFeed = async (choice: string) => {
    const texts = { ...feedFiles, "pzchoices.csv": feedFiles["pzchoices.csv"].replace("Serif", choice) };
    await run("import", "personalization", await writeFeed(folder, `feed-${files++}`, texts), "--force");
  };
  const importPresentation = async () => {
    const [path = ""] = await writeFiles(folder, { [`${files++}.toml`]: '[styles.BLOCK]\nname.en = "Block"\n' });
    await run("import", "presentation", path);
  };
  const sql = async (change: (sql: SQL) => Promise<unknown>) => {
    await using connection = await connectTo(environment.DATABASE_URL ?? "");
    await change(connection);
  };
  const isEverythingPurged = async () => {
    await using connection = await connectTo(environment.DATABASE_URL ?? "");
    const states = await connection<{ state: string }[]>`SELECT state FROM purge_target`;
    return states.some(({ state }) => state.includes('"form":"') && !/"form":""|"isEverything":true/.test(state));
  };
  const readMetric = async (name: string) => {
    const lines = (await (await fetch(`${service.adminUrl}/metrics`)).text()).split("\n");
    const line = lines.find((each) => each.startsWith(`pds_purge_${name} `));
    return Number(line?.split(" ").at(-1));
  };
  const target = () => `{target="varnish ${other.url}"}`;
  /** Each write path, in this order, with the tags that it must purge. */
  const paths: readonly (readonly [name: string, tags: string, write: () => Promise<unknown>])[] = [
    ["the first start", "product", async () => {}],
    ["the first start, for the other kind", "personalization", async () => {}],
    ["an import of products", "product-7 product-handle%3Aplate-8", () => importProducts({ 7: "Seven", 8: "Eight" })],
    ["another import of products", "product-8", () => importProducts({ 7: "Seven", 8: "Another" })],
    ["a removal by an import", "product-7 product-handle%3Aplate-7", () => importProducts({ 8: "Another" })],
    ["a manual change", "product-8", () => sql((on) => on`UPDATE product SET tag = 'manual' WHERE id = 8`)],
    ["a manual removal", "product-8", () => sql((on) => on`DELETE FROM product WHERE id = 8`)],
    ["the first import of personalization", "personalization", () => importFeed("Serif")],
    ["an import of personalization", tagOf("FONT"), () => importFeed("Slab")],
    ["a rollback", tagOf("FONT"), () => run("rollback", "personalization", "--brand", "acme")],
    ["an import of a presentation", fingerprintTag(presentationFingerprint("acme")), importPresentation],
    ["the removal of a brand", "personalization", () => run("brands", "remove", "acme")],
    [
      "a lookup at the platform",
      `product-${looked}`,
      () => until("it is served", async () => (await service.get(`/api/v1/products/${looked}`)).ok),
    ],
    [
      "a lookup by a new handle",
      `product-handle%3Aa%2Fb product-handle%3A${handleOf(looked)}`,
      async () => {
        platform.catalog.touch(looked, { product: { handle: "a/b" } });
        await until("it is served", async () => (await service.get("/api/v1/products/handle/a%2Fb")).ok);
      },
    ],
    ["catalog-sync", `product-${synced}`, () => run("run", "catalog-sync")],
    [
      "catalog-sync of a handle",
      `product-handle%3Asynced product-handle%3A${handleOf(synced)}`,
      async () => {
        platform.catalog.touch(synced, { product: { handle: "synced" } });
        await run("run", "catalog-sync");
      },
    ],
    [
      "catalog-reconcile",
      `product-${synced}`,
      async () => {
        platform.catalog.remove(synced);
        await run("run", "catalog-reconcile");
      },
    ],
    [
      "a delivery",
      `product-${delivered} product-handle%3Adelivered product-handle%3A${handleOf(delivered)}`,
      async () => {
        platform.catalog.touch(delivered, { product: { title: "Delivered", handle: "delivered" } });
        const body = `{"id":${delivered},"updated_at":"${new Date().toISOString()}"}`;
        expect((await deliver(service.url, { body })).status).toBe(200);
      },
    ],
  ];

  const writes: Promise<void>[] = [];
  /** Writes in their order up to a path, each once, also if the tests run in another order. */
  const writeUpTo = (index: number): Promise<void> => {
    writes[index] ??= (index === 0 ? Promise.resolve() : writeUpTo(index - 1)).then(() => expectPurge(index));
    return writes[index];
  };
  const writeAll = () => writeUpTo(paths.length - 1);
  const expectPurge = async (index: number) => {
    const [name, tags, write] = paths[index] as (typeof paths)[number];
    const before = new Map(tags.split(" ").map((tag) => [tag, varnish.countOf(tag)]));
    if (name.startsWith("the first start")) before.set(tags, 0);
    // Else one purge of everything may stand for that of the change.
    else await until("everything is purged twice", isEverythingPurged);
    await write();
    const isPurged = () => [...before].every(([tag, count]) => varnish.countOf(tag) > count);
    await until(`${name} is purged`, isPurged);
  };

  test.each(paths.map(([name, tags], index) => [name, tags, index] as const))(
    "%s is followed by a purge of %s",
    (_, __, index) => writeUpTo(index),
  );

  test("metrics and the console show a server that cannot be purged, and later it gets everything that it missed", async () => {
    await writeAll();
    expect(varnish.violations).toEqual([]);
    await importProducts({ 9: "Nine", 11: "Eleven" });
    expect(other.purges).toEqual([]);
    await until(
      "the metrics show the failures",
      async () =>
        (await readMetric(`oldest_seconds${target()}`)) > 1 &&
        (await readMetric('requests_total{result="failed"}')) > 1,
    );
    const failed = /varnish \S+: \d+ changes to purge.* The last purge failed: it responded with status 503\./;
    await until("the console shows how far each is purged", async () => {
      const overview = await (await fetch(service.adminUrl)).text();
      return overview.includes(`varnish ${varnish.url}: all changes are purged.`) && failed.test(overview);
    });

    other.state.isDown = false;
    await until("all is purged there", () => other.countOf("product") > 0 && other.countOf("personalization") > 0);
    await importProducts({ 9: "Nine again" });
    await until("the next change is purged", () => other.countOf("product-9") > 0);
    await until("the log says so", () => service.log().includes("purging works again"));
    await until("the console no longer shows it", async () => {
      const overview = await (await fetch(service.adminUrl)).text();
      return overview.includes(`varnish ${other.url}: all changes are purged.`) && !failed.test(overview);
    });
    await until("nothing is old", async () => (await readMetric(`oldest_seconds${target()}`)) === 0);
  });

  test("a process that was frozen gives the CDN no old response", async () => {
    await writeAll();
    // A delivered product is read again after a while, which would undo the change below.
    const path = `/api/v1/products/${looked}`;
    const read = async () => {
      const { headers, status } = await service.get(path);
      return { status, etag: headers.get("etag"), cdn: headers.get("surrogate-control") };
    };
    let before = await read();
    await until("it is cached, and the CDN may keep it", async () => {
      before = await read();
      return before.status === 200 && before.cdn?.startsWith("public, max-age=86400") === true;
    });
    await sql((on) =>
      // SQLite would refuse to write if another process did between the beginning and the first statement.
      on.begin(engine === "sqlite" ? "IMMEDIATE" : "READ WRITE", async (transaction) => {
        await transaction`UPDATE product SET tag = 'frozen' WHERE id = ${looked}`;
        // Now the process cannot be frozen while it has the lock of the store.
        service.process.kill("SIGSTOP");
      }),
    );
    const reads = Array.from({ length: 20 }, read);
    await Bun.sleep(1500);
    service.process.kill("SIGCONT");
    for (const { etag, cdn } of await Promise.all(reads)) {
      if (etag === before.etag) expect(cdn).toBe("no-store, max-age=0");
    }
    await until("the CDN may keep it again", async () => (await read()).cdn === before.cdn);
    expect((await read()).etag).not.toBe(before.etag);
  });

  test("a CDN on which purges have no effect is noticed", async () => {
    await writeAll();
    expect(await readMetric('probes_total{result="stale"}')).toBe(0);
    await until("a probe found a new response", async () => (await readMetric('probes_total{result="fresh"}')) > 0);
    await fetch(`${edge.url}/api/v1/products/${delivered}`);
    edge.state.isFrozen = true;
    // A probe begins with a second purge, unless another one has just begun, and it compares the
    // response before a change with the one after it.
    for (let change = 1; (await readMetric('probes_total{result="stale"}')) === 0; change++) {
      const before = varnish.countOf(`product-${delivered}`);
      // A change in the store alone would be undone when the product is read again.
      platform.catalog.touch(delivered, { product: { title: `Changed ${change} times` } });
      await run("run", "catalog-sync");
      await until("the change is purged twice", () => varnish.countOf(`product-${delivered}`) >= before + 2);
    }
    await until("the log says so", () => service.log().includes("the CDN still serves the old response"));
  });

  test("everything is purged after the table was emptied, as for a restored store", async () => {
    await writeAll();
    const before = varnish.countOf("product");
    await sql((on) => on`DELETE FROM purge_target`);
    await until("everything is purged", () => varnish.countOf("product") > before);
  });
});
