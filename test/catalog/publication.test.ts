import { afterAll, describe, expect, test } from "bun:test";
import { certificate, certificateKey } from "../support/certificate.ts";
import { importHere } from "../support/import-here.ts";
import {
  createStore,
  enginesOf,
  pds,
  type RunningService,
  serve,
  serveUntilEnd,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { environmentOf, startPlatform } from "../support/platform.ts";
import { startServer } from "../support/server.ts";

const jobs = "[jobs.catalog-reconcile]\nschedule = 'off'\n[jobs.catalog-sync]\nschedule = 'off'\n";
const [configPath = ""] = await writeFiles(await temporaryFolder(), { "pds.toml": jobs });

interface Found {
  readonly product: {
    readonly published_at: string | null;
    readonly metafields: readonly { readonly namespace: string }[];
    readonly variants: readonly { readonly metafields: readonly { readonly namespace: string }[] }[];
  } | null;
}

for (const engine of enginesOf("sqlite")) {
  describe(`on ${engine}, products of another publication than the online store`, async () => {
    const platform = startPlatform({ products: 4 });
    const { catalog } = platform;
    const [online = "", sold = "", draft = "", both = ""] = catalog.ids(0, 4);
    const at = "2026-01-01T00:00:00Z";
    catalog.touch(online, { product: { publishedAt: at, onPointOfSale: false, status: "ACTIVE" } });
    catalog.touch(sold, { product: { publishedAt: null, onPointOfSale: true, status: "ACTIVE" } });
    catalog.touch(draft, { product: { publishedAt: null, onPointOfSale: true, status: "DRAFT" } });
    catalog.touch(both, { product: { publishedAt: at, onPointOfSale: true, status: "ACTIVE" } });
    const environment = {
      ...environmentOf(platform),
      VISIBLE: "active",
      DATABASE_URL: await createStore(engine),
      PDS_CONFIG: configPath,
      PUBLICATION: "180002",
    };
    const start = (settings = {}) =>
      serveUntilEnd({ ...environment, SCHEDULER: "off", MEMORY_MEGABYTES: "0", ...settings });
    const statuses = (service: RunningService) =>
      Promise.all([online, sold, draft, both].map(async (id) => (await service.get(`/api/v1/products/${id}`)).status));

    test("need a scope, without which nothing is written", async () => {
      platform.findApp().scopes = new Set(["read_products"]);
      const { code, stderr } = await importHere(["run", "catalog-reconcile"], environment);
      expect(code).toBe(1);
      expect(stderr).toContain("without Product.publishedOnPublication no product is written");
    });

    test("are the visible ones, looked up, in bulk, and page by page, until the online store decides", async () => {
      platform.findApp().scopes = new Set(["read_products", "read_publications"]);
      const service = await start();
      expect(await statuses(service)).toEqual([404, 200, 404, 200]);
      const { stdout } = await importHere(["run", "catalog-reconcile", "--json"], environment);
      const [note] = (JSON.parse(stdout) as { notes: string[] }).notes;
      expect(note).toStartWith("warning: hidden products: 2 of 4");
      expect(await statuses(service)).toEqual([404, 200, 404, 200]);
      catalog.touch(both, { product: { onPointOfSale: false } });
      platform.faults.add({ kind: "bulkFailed", count: 4 });
      expect((await importHere(["run", "catalog-reconcile"], environment)).code).toBe(0);
      expect(await statuses(service)).toEqual([404, 200, 404, 404]);
      const page = await (await fetch(`${service.adminUrl}/products`)).text();
      expect(page).toContain("3 of them are hidden");

      // A release is stored ahead of its time, and was stored before with another one.
      const unfiltered = await start({ VISIBLE: "all" });
      for (const [way, job, day] of [
        ["in bulk", "catalog-reconcile", "2199-01-01"],
        ["page by page", "catalog-reconcile", "2199-01-02"],
        ["one by one", "catalog-sync", "2199-01-03"],
      ] as const) {
        const release = `${day}T12:00:00Z`;
        catalog.touch(both, { product: { onPointOfSale: release } });
        if (way === "page by page") platform.faults.add({ kind: "bulkFailed", count: 4 });
        expect((await importHere(["run", job], environment)).code).toBe(0);
        expect([way, ...(await statuses(service))]).toEqual([way, 404, 200, 404, 404]);
        const { product } = (await (await unfiltered.get(`/api/v1/products/${both}`)).json()) as Found;
        expect([way, product?.published_at]).toEqual([way, `${day}T07:00:00-05:00`]);
      }

      const { code } = await importHere(["run", "catalog-reconcile"], { ...environment, PUBLICATION: "" });
      expect(code).toBe(0);
      expect(await statuses(await start({ PUBLICATION: "" }))).toEqual([200, 404, 404, 200]);
    });
  });

  test.each([
    ["one", "global"],
    ["several", "global, other"],
    ["another", "other"],
  ])(`on ${engine}, metafields are limited to %s namespace`, async (_, setting) => {
    const platform = startPlatform({ products: 2, metafields: 6, variantMetafields: 4 });
    const [id = "", other = ""] = platform.catalog.ids(0, 2);
    const environment = {
      ...environmentOf(platform),
      DATABASE_URL: await createStore(engine),
      PDS_CONFIG: configPath,
      METAFIELD_NAMESPACES: setting,
    };
    await using service = await serve({ ...environment, SCHEDULER: "off", MEMORY_MEGABYTES: "0" });
    const namespacesOf = async (product: string) => {
      const found = (await (await service.get(`/api/v1/products/${product}`)).json()) as Found;
      const lists = [found.product, ...(found.product?.variants ?? [])].flatMap((owner) => owner?.metafields ?? []);
      return new Set(lists.map(({ namespace }) => namespace));
    };
    const allowed = setting.split(", ");
    const looked = await namespacesOf(id);
    expect([...looked].every((namespace) => allowed.includes(namespace))).toBe(true);
    expect(looked.has("global")).toBe(allowed.includes("global"));
    expect((await importHere(["run", "catalog-reconcile"], environment)).code).toBe(0);
    for (const product of [id, other]) expect(await namespacesOf(product)).toEqual(looked);
  });
}

test("pds check names the scope that the app lacks", async () => {
  const platform = startPlatform({ products: 1 });
  const environment = { ...environmentOf(platform), DATABASE_URL: await createStore("sqlite"), PDS_CONFIG: configPath };
  const check = () => pds(["check"], environment);
  platform.findApp().scopes = new Set();
  const { code, stdout } = await check();
  expect(code).toBe(1);
  expect(stdout).toMatch(/catalog-sync of .*ACCESS_DENIED.*read_products/);
  platform.findApp().scopes = new Set(["read_products"]);
  expect((await check()).code).toBe(0);
});

const refusing = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
const { port: closedPort } = refusing;
refusing.stop(true);
const plain = new URL(startServer(() => new Response("<p>Sign in</p>")));
const self = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  tls: { cert: certificate, key: certificateKey },
  fetch: () => new Response(),
});
afterAll(() => self.stop(true));

test.each([
  ["a closed port", `http://127.0.0.1:${closedPort}`, `127.0.0.1:${closedPort} refused the connection`],
  ["an unknown host", "http://shop.invalid", "the host shop.invalid is unknown"],
  ["a port without TLS", `https://127.0.0.1:${plain.port}`, "TLS handshake failed"],
  ["a certificate that is not trusted", `https://localhost:${self.port}`, "self signed certificate"],
  ["a web page", `http://127.0.0.1:${plain.port}`, "the response is incomplete or not JSON"],
])("pds check says at once why the shop does not answer: %s", async (_, origin, reason) => {
  const store = { DATABASE_URL: await createStore("sqlite"), PDS_CONFIG: configPath };
  const { code, stdout } = await pds(["check"], { ...environmentOf({ origin }), ...store });
  expect(code).toBe(1);
  expect(stdout.replace(/\s+/g, " ")).toContain(`Shopify request Shop failed: `);
  expect(stdout).toContain(reason);
});
