import { describe, expect, test } from "bun:test";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { configureNginx } from "../support/balancers.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles } from "../support/feed.ts";
import { findFreePort } from "../support/free-port.ts";
import { listInstalled, startFront } from "../support/front.ts";
import { httpCases, request } from "../support/http-cases.ts";
import { fillStore } from "../support/import-here.ts";
import { serveUntilEnd, temporaryFolder } from "../support/pds.ts";

// The cases of test/http/conformance.test.ts through real shared caches, which only follow the
// headers of the responses.

const folder = await temporaryFolder();
// Varnish reads its files as another user.
await chmod(folder, 0o755);
const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, BRAND: "acme" };
await fillStore(environment, [toProduct(1)], feedFiles);
const service = await serveUntilEnd(environment);

/** Commands of caches in the foreground, by program. */
const caches: Readonly<Record<string, (own: string, port: number) => Promise<readonly string[]>>> = {
  nginx: async (own, port) => {
    const http = `
      proxy_cache_path ${own}/cache keys_zone=pds:10m;
      server {
        listen 127.0.0.1:${port};
        proxy_cache pds;
        # All encodings share their weak tag.
        proxy_cache_revalidate on;
        add_header X-Cache $upstream_cache_status always;
        location / { proxy_pass ${service.url}; }
      }`;
    return ["nginx", ...(await configureNginx(own, http))];
  },
  varnishd: async (own, port) => {
    const { hostname, port: origin } = new URL(service.url);
    await writeFile(
      join(own, "default.vcl"),
      `vcl 4.1;
       backend default { .host = "${hostname}"; .port = "${origin}"; }
       sub vcl_deliver { set resp.http.X-Cache = obj.hits; }`,
    );
    // The service compresses better, and prefers other encodings.
    const options = ["-p", "http_gzip_support=off", "-n", join(own, "work")];
    return ["varnishd", "-F", "-a", `127.0.0.1:${port}`, "-f", join(own, "default.vcl"), ...options];
  },
};

describe.each(listInstalled(Object.keys(caches)))("through %s", async (program) => {
  const own = join(folder, program);
  await mkdir(own, { recursive: true });
  const port = await findFreePort();
  const url = await startFront((await caches[program]?.(own, port)) ?? [], port);

  test("a response is cached, and not what must not be", async () => {
    const read = async (path: string) => (await request(url + path)).headers.get("x-cache");
    for (const [path, expected] of [
      ["/api/v1/products/pz/PLATE", /^(HIT|[1-9]\d*)$/],
      ["/livez", /^(MISS|BYPASS|0)$/],
    ] as const) {
      await read(path);
      expect(await read(path)).toMatch(expected);
    }
  });

  const paths = [
    "/api/v1/products/1",
    "/api/v1/products/handle/plate-1",
    "/api/v1/products/pz/MUG",
    "/api/v1/products/pz?sku=MUG&sku=NOPE",
    "/api/v1/products/form/en/MUG",
    "/openapi.json",
  ];
  const cases = httpCases.filter(({ isDirect }) => isDirect !== true);
  test.each(paths.flatMap((path) => cases.map(({ name, send }) => [path, name, send] as const)))(
    "%s: %s",
    (path, _, send) => send(url + path),
  );
});
