import { describe, test } from "bun:test";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { cleanUp } from "../support/clean-up.ts";
import { writeFeed } from "../support/feed.ts";
import { httpCases } from "../support/http-cases.ts";
import { importHere } from "../support/import-here.ts";
import { serve, temporaryFolder, writeFiles } from "../support/pds.ts";

// Through shared caches, test/campaigns/shared-caches.test.ts has the same cases.
const folder = await temporaryFolder();
const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, BRAND: "acme" };
const [products = ""] = await writeFiles(folder, { "products.ndjson": toJson(toProduct(1)) });
await importHere(["import", "products", products], environment);
await importHere(["import", "personalization", await writeFeed(folder, "feed")], environment);
const service = await serve(environment);
cleanUp(() => service.stop());

describe.each([
  "/api/v1/products/1",
  "/api/v1/products/handle/plate-1",
  "/api/v1/products/pz/MUG",
  "/api/v1/products/pz?sku=MUG&sku=NOPE",
  "/api/v1/products/form/en/MUG",
  "/api/v1/histories",
  "/openapi.json",
])("%s", (path) => {
  test.each(httpCases.map(({ name, section, send }) => [name, section, send] as const))(
    "%s (RFC %s)",
    (_name, _section, send) => send(service.url + path),
  );
});
