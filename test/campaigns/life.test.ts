import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { writeFeed } from "../support/feed.ts";
import { runLoad } from "../support/load.ts";
import { type Environment, isCampaign, pds, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { canSeeProcesses, childrenOf, spawnService, startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// The start and stop of processes.

const folder = await temporaryFolder();
const id = 8_000_000_000_001;
const store: Environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, SHOP_DOMAIN: "shop.example" };
const paths = [`/api/v1/products/${id}`, "/api/v1/products/pz/MUG", "/api/v1/histories", "/livez"];

beforeAll(async () => {
  const [products = ""] = await writeFiles(folder, { "products.ndjson": toJson(toProduct(id)) });
  await pds(["import", "products", products], store);
  await pds(["import", "personalization", await writeFeed(folder, "feed")], store);
});

interface Readiness {
  readonly status: number;
  readonly body: { readonly status: string; readonly checks: Readonly<Record<string, string>> };
}

async function readinessOf(url: string): Promise<Readiness> {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: (await response.json()) as Readiness["body"] };
}

/** Sums the samples of a metric with these labels. */
async function sumOf({ adminUrl }: { readonly adminUrl: string }, name: string, labels = ""): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.match(/^[^{ ]+/)?.[0] === name && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const answersOf = (service: { readonly adminUrl: string }, route: string) =>
  sumOf(service, "pds_http_request_duration_seconds_count", `route="${route}"`);

/** A slow platform or feed: its path has the delay in milliseconds. */
const slow = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 60,
  fetch: async ({ url }) => {
    await Bun.sleep(Number(new URL(url).pathname.split("/")[1]));
    return new Response("{}", { status: 403 });
  },
});
afterAll(() => slow.stop(true));

describe("the probes", () => {
  test("report an unreachable store as a warning: the service is alive and ready", async () => {
    const { url, drop } = await createPostgresDatabase();
    await using service = await serve({ DATABASE_URL: url });
    await service.get("/api/v1/histories");
    await drop();
    await until("the loss is noticed", async () => (await sumOf(service, "pds_store_unreachable")) === 1);
    const { status, body } = await readinessOf(service.url);
    const database = "cannot be reached; only cached responses are served";
    expect([status, body]).toMatchObject([200, { status: "degraded", checks: { service: "ok", database } }]);
    for (const base of [service.url, service.adminUrl]) expect((await fetch(`${base}/livez`)).status).toBe(200);
  });
});

describe("a stop", () => {
  test.concurrent("by SIGTERM first fails readiness, while requests are answered and connections closed", async () => {
    await using service = await startService({ ...store, DRAIN_SECONDS: "10" });
    const kept = runLoad({ url: service.url, paths, connections: 4, rate: 40, seconds: 1.2 });
    const ending = service.end("SIGTERM");
    await until("it says so", async () => (await readinessOf(service.url)).status === 503);
    for (const url of [service.url, service.adminUrl]) {
      const { status, body } = await readinessOf(url);
      expect(status).toBe(503);
      expect(body).toMatchObject({ status: "not ready", checks: { service: "is about to stop", database: "ok" } });
    }
    for (const path of [...paths, "/nothing", "/api/v1/products/pz/%zz", "/openapi.json"]) {
      for (const method of ["GET", "HEAD", "OPTIONS", "POST"]) {
        const response = await fetch(`${service.url}${path}`, { method });
        expect([path, response.headers.get("connection")]).toEqual([path, "close"]);
        if (method === "GET" && paths.includes(path)) expect(response.status).toBe(200);
      }
    }
    expect(await kept).toMatchObject({ failed: 0, failures: {} });
    const { code, tookMs } = await ending;
    expect(code).toBe(0);
    expect(tookMs).toBeGreaterThanOrEqual(10_000);
    expect(service.log()).toContain('"signal":"SIGTERM"');
    expect(service.log()).toContain('"msg":"stopped"');
  });

  test.concurrent("by SIGTERM is not cut short by a second SIGTERM", async () => {
    await using service = await startService({ ...store, DRAIN_SECONDS: "10" });
    const ending = service.end("SIGTERM");
    await Bun.sleep(1200);
    service.process.kill("SIGTERM");
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    const { code, tookMs } = await ending;
    expect(code).toBe(0);
    expect(tookMs).toBeGreaterThanOrEqual(10_000);
  });

  test.concurrent("by SIGTERM is cut short by a later SIGINT", async () => {
    await using service = await startService({ ...store, DRAIN_SECONDS: "60" });
    const ending = service.end("SIGTERM");
    await until("it stops", () => service.log().includes('"stopping"'));
    // Within a second, both would count as one.
    await until("it has ended", () => {
      service.process.kill("SIGINT");
      return service.process.exitCode !== null;
    });
    const { code, tookMs } = await ending;
    expect(code).toBe(130);
    expect(tookMs).toBeLessThan(60_000);
  });

  test.concurrent("by SIGINT skips the drain time", async () => {
    await using service = await startService({ ...store, DRAIN_SECONDS: "60" });
    const { code, tookMs } = await service.end("SIGINT");
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(60_000);
  });

  // A request longer than the grace period takes ten seconds to test.
  test.concurrent.each(isCampaign ? [1000, 60_000] : [1000])(
    "lets requests of %i ms finish, up to a limit",
    async (ms) => {
      const platform = { SHOPIFY_API_URL: `${slow.url.origin}/${ms}`, SHOPIFY_ACCESS_TOKEN: "shpat_stand-in" };
      await using service = await startService({ ...store, ...platform });
      const asked = fetch(`${service.url}/api/v1/products/77`);
      await until("it is asked", async () => (await sumOf(service, "pds_limiter_active", 'limiter="platform"')) === 1);
      const ending = service.end("SIGTERM");
      const response = await asked;
      expect(response.status).toBe(503);
      expect(await response.text()).toContain("could not be found");
      const { code, tookMs } = await ending;
      expect(code).toBe(0);
      expect(tookMs).toBeLessThan(60_000);
    },
  );

  test.concurrent("is not blocked by a client that does not read", async () => {
    // Otherwise, the idle timeout closes its connection after a while.
    await using service = await startService({ ...store, IDLE_SECONDS: "0" });
    // The first request waits until the document is created, and the runtime closes a connection on
    // which others arrive meanwhile.
    expect((await fetch(`${service.url}/openapi.json`)).status).toBe(200);
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname).on("error", () => {});
    await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
    socket.pause();
    socket.write("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2000));
    await until("much is asked", async () => (await answersOf(service, "/openapi.json")) > 20);
    const { code } = await service.end("SIGTERM");
    socket.destroy();
    expect(code).toBe(0);
  });

  test.concurrent.if(canSeeProcesses)("during the first runs does not wait for them", async () => {
    const [config = ""] = await writeFiles(folder, {
      "pds.toml": `brand = "acme"
        [jobs.personalization-import]
        source = "${slow.url.origin}/30000/"
        schedule = "0 0 1 1 *"`,
    });
    const environment = { DATABASE_URL: `sqlite:${join(folder, "empty.sqlite")}`, PDS_CONFIG: config };
    await using service = spawnService([], environment);
    await until("its first run has begun", () => childrenOf(service.pid).length > 0);
    expect(service.printed()).toBe("");
    const { code, tookMs } = await service.end("SIGTERM");
    expect(service.log()).toContain('"msg":"stopped"');
    expect(code).toBe(0);
    // Sooner than the run would end.
    expect(tookMs).toBeLessThan(25_000);
  });
});

describe("another process on the same port", () => {
  test("fails with a hint unless the port is shared", async () => {
    await using service = await startService(store);
    const port = new URL(service.url).port;
    for (const more of [{}, { REUSE_PORT: "on" }]) {
      const second = await pds(["serve"], { ...store, PORT: port, ADMIN_PORT: "0", DRAIN_SECONDS: "0", ...more });
      expect(second.code).toBe(1);
      expect(second.stderr).toMatch(new RegExp(`pds: cannot listen on \\S+ port ${port}: .*PORT or ADMIN_PORT`));
      expect(second.stdout).toBe("");
    }
    const { port: adminPort } = new URL(service.adminUrl);
    const second = await pds(["serve"], { ...store, PORT: "0", ADMIN_PORT: adminPort, DRAIN_SECONDS: "0" });
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining(`port ${adminPort}: `)]);
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  });
});
