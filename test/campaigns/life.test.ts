import { afterAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { toProduct } from "../support/catalog.ts";
import { feedFiles } from "../support/feed.ts";
import { fillStore } from "../support/import-here.ts";
import { runLoad } from "../support/load.ts";
import { type Environment, isCampaign, migrateStore, temporaryFolder } from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { readinessOf, readMetric, startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// How processes stop.

const folder = await temporaryFolder();
const id = 8_000_000_000_001;
const store: Environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, SHOP_DOMAIN: "shop.example" };
const paths = [`/api/v1/products/${id}`, "/api/v1/products/pz/MUG", "/api/v1/histories", "/livez"];

await fillStore(store, [toProduct(id)], feedFiles);

/** A slow platform: its path has the delay in milliseconds. */
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

describe("a stop", () => {
  test.concurrent("by SIGTERM first fails readiness, while requests are answered and connections closed", async () => {
    await using service = await startService({ ...store, DRAIN_SECONDS: "10" });
    const kept = runLoad({ url: service.url, paths, connections: 4, rate: 40, seconds: 1.2 });
    const ending = service.end("SIGTERM");
    await until("it says so", async () => (await readinessOf(service.url)).code === 503);
    for (const url of [service.url, service.adminUrl]) {
      const checks = { service: "is about to stop", database: "ok" };
      expect(await readinessOf(url)).toMatchObject({ code: 503, status: "not ready", checks });
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
      await until(
        "it is asked",
        async () => (await readMetric(service, "pds_limiter_active", 'limiter="platform"')) === 1,
      );
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
    const asked = () => readMetric(service, "pds_http_request_duration_seconds_count", 'route="/openapi.json"');
    await until("much is asked", async () => (await asked()) > 20);
    const { code } = await service.end("SIGTERM");
    socket.destroy();
    expect(code).toBe(0);
  });

  test.concurrent("is not blocked by a store that was cut off", async () => {
    const { url, drop } = await createPostgresDatabase();
    const proxy = await startProxy(url);
    await migrateStore(url);
    await using service = await startService({ DATABASE_URL: proxy.url });
    proxy.cut();
    await until("it notices", () => service.log().includes("the store is unreachable"));
    const { code, tookMs } = await service.end("SIGTERM");
    expect(code).toBe(0);
    // It gives up its connections after ten seconds of silence.
    expect(tookMs).toBeLessThan(60_000);
    await drop();
  });
});
