import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import type { Product } from "../../src/contract/product.ts";
import { toProduct } from "../support/catalog.ts";
import { createFilePlatform } from "../support/file-platform.ts";
import { temporaryFolder } from "../support/pds.ts";
import { connectPlatform, startPlatform } from "../support/platform.ts";
import { type PlatformFixture, testPlatform } from "./conformance.ts";

async function shopifyFixture(): Promise<PlatformFixture> {
  const standIn = startPlatform({ products: 4, specials: ["hugeId", "manyMetafields", "bare"], now: Date.now });
  const { catalog, faults } = standIn;
  return {
    platform: await connectPlatform(standIn),
    hasBulk: true,
    hasDeletions: true,
    ids: () => catalog.ids(0, catalog.count),
    edit: (id, title) => catalog.touch(id, { product: { title } }),
    remove: (id) => catalog.remove(id),
    fail: () => {
      faults.add({ kind: "status", status: 403, count: 1000 });
      return () => faults.clear();
    },
  };
}

async function fileFixture(hasBulk: boolean): Promise<PlatformFixture> {
  const path = join(await temporaryFolder(), "products.ndjson");
  const products = new Map<string, Product>();
  const write = () => writeFile(path, [...products.values()].map(toJson).join("\n"));
  for (const id of ["1", "2", "3", "9007199254740993"]) products.set(id, toProduct(BigInt(id)));
  await write();
  return {
    platform: createFilePlatform(path, { hasBulk }),
    hasBulk,
    hasDeletions: false,
    ids: () => [...products.keys()],
    edit: async (id, title) => {
      const updated_at = new Date().toISOString().replace(/\.\d+Z$/, "+00:00");
      products.set(id, toProduct(BigInt(id), { title, updated_at }));
      await write();
    },
    remove: async (id) => {
      products.delete(id);
      await write();
    },
    fail: async () => {
      await rename(path, `${path}.away`);
      return () => rename(`${path}.away`, path);
    },
  };
}

testPlatform("Shopify", shopifyFixture);
testPlatform("of product files", () => fileFixture(true));
testPlatform("of product files without bulk reads", () => fileFixture(false));
