import { afterAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import pino from "pino";
import { ConcurrencyLimiter } from "../../src/base/concurrency-limiter.ts";
import { toJson } from "../../src/base/json.ts";
import { isKnownMissing } from "../../src/catalog/known-ids.ts";
import { ProductLookup } from "../../src/catalog/lookup.ts";
import { findProduct, findStoredProductId } from "../../src/catalog/product.ts";
import { catalogReconcile } from "../../src/catalog/reconcile.ts";
import { catalogSync } from "../../src/catalog/sync.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { doWork, toProduct } from "../support/catalog.ts";
import { createFilePlatform } from "../support/file-platform.ts";
import { createStore, temporaryFolder } from "../support/pds.ts";

const log = pino({ level: "silent" });
const limits = { name: "test", maxActive: 1, maxQueued: 1, maxWaitMs: 5000, timeoutMs: 5000, rejection: "No." };

describe.each([
  ["with bulk reads", true],
  ["without bulk reads", false],
])("the catalog of a platform of product files, %s", (_, hasBulk) => {
  /** Creates a platform with three products, and an empty store. */
  const createCatalog = async () => {
    const path = join(await temporaryFolder(), "products.ndjson");
    const write = (titles: Readonly<Record<number, string>>) => {
      const products = Object.entries(titles).map(([id, title]) => toProduct(Number(id), { title }));
      return writeFile(path, products.map(toJson).join("\n"));
    };
    await write({ 1: "One", 2: "Two", 3: "Three" });
    const platform = createFilePlatform(path, { hasBulk });
    const database = await openDatabase(await createStore("sqlite"));
    afterAll(() => closeDatabase(database));

    const sync = (source = platform) => doWork(database, catalogSync(source, 0.2));
    const reconcile = () => doWork(database, catalogReconcile(platform, 0.2, "all", log));
    const storedTitle = async (id: bigint) => {
      const found = await findProduct(database, id);
      return found && (JSON.parse(new TextDecoder().decode(found.document)) as { title: string }).title;
    };
    return { platform, database, write, sync, reconcile, storedTitle };
  };
  const fallback = hasBulk ? [] : ["the file is not read at once; reading all products page by page instead"];

  test("is synced", async () => {
    const { sync, storedTitle } = await createCatalog();
    expect(await sync()).toEqual({ counts: 3, notes: [], error: undefined });
    expect(await sync()).toEqual({ counts: 0, notes: [], error: undefined });
    expect(await storedTitle(2n)).toBe("Two");
  });

  test("is reconciled, with edits that moved no timestamp, and removals", async () => {
    const { write, sync, reconcile, storedTitle } = await createCatalog();
    await sync();
    await write({ 1: "One", 2: "Second", 4: "Four" });
    const { counts, notes, error } = await reconcile();
    expect([counts, error]).toEqual([2, undefined]);
    expect(notes).toEqual([...fallback, "removed 1 product that the platform no longer has"]);
    expect(await Promise.all([1n, 2n, 3n, 4n].map(storedTitle))).toEqual(["One", "Second", undefined, "Four"]);
  });

  test("is looked up live", async () => {
    const { platform, database, write, storedTitle } = await createCatalog();
    await write({ 1: "One", 5: "Five" });
    const lookup = new ProductLookup({
      findStored: (id) => findProduct(database, id),
      findStoredId: (handle) => findStoredProductId(database, handle),
      isKnownMissing: (id) => isKnownMissing(database, id),
      writer: database,
      platform,
      limiters: { platform: new ConcurrencyLimiter(limits), refresh: new ConcurrencyLimiter(limits) },
      log,
      lookupsPerMinute: 10,
      productMaxAge: 60,
      maxRemovedShare: 0.2,
    });
    expect(await lookup.find(5n)).toMatchObject({ tag: expect.any(String) });
    expect(await storedTitle(5n)).toBe("Five");
    expect(await lookup.find(6n)).toBeUndefined();
  });

  test("is not taken from another shop", async () => {
    const { platform, sync } = await createCatalog();
    await sync();
    const readShop = async (signal: AbortSignal) => ({ ...(await platform.readShop(signal)), id: "other" });
    const other = { ...platform, readShop };
    expect((await sync(other)).error?.message).toBe(
      "the platform answers as shop other, but the stored products are from shop files: nothing was changed; " +
        'check the product file, or change the shop on purpose with "pds platform shop"',
    );
  });
});
