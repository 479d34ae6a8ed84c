import { expect, test } from "bun:test";
import { toJson } from "../../src/base/json.ts";
import { readProducts } from "../../src/catalog/product-files.ts";
import { toProduct } from "../support/catalog.ts";
import { temporaryFolder, writeFiles } from "../support/pds.ts";

const folder = await temporaryFolder();

test("reading a large file leaves the event loop its turns, in which a run renews its lease", async () => {
  const documents = Array.from({ length: 2000 }, (_, index) => toJson(toProduct(index + 1)));
  const [path = ""] = await writeFiles(folder, { "products.ndjson": documents.join("\n") });
  let turns = 0;
  const count = () => {
    turns++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  let products = 0;
  for await (const document of readProducts([path])) if ("product" in document) products++;
  clearImmediate(counting);
  expect(products).toBe(documents.length);
  expect(turns).toBeGreaterThan(5);
});
