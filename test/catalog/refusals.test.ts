import { afterAll, describe, expect, spyOn, test } from "bun:test";
import pino from "pino";
import { parseJson } from "../../src/base/json.ts";
import { findProduct, listDocuments, noteDelivery } from "../../src/catalog/product.ts";
import { listUnsettledProducts } from "../../src/catalog/product-truth.ts";
import { createPushReader } from "../../src/catalog/push/reader.ts";
import { catalogReconcile } from "../../src/catalog/reconcile.ts";
import { catalogSync } from "../../src/catalog/sync.ts";
import type { Product } from "../../src/contract/product.ts";
import type { Database } from "../../src/database/database.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import type { Platform, PlatformProduct, UnusableProduct } from "../../src/platforms/platform.ts";
import { doWork } from "../support/catalog.ts";
import { createStore, type Engine, enginesOf } from "../support/pds.ts";
import {
  connectPlatform,
  countPlatformRequests,
  type ProductChanges,
  relay,
  type StandIn,
  startPlatform,
} from "../support/platform.ts";

const log = pino({ level: "silent" });

interface World {
  readonly standIn: StandIn;
  readonly database: Database;
  /** The ids of the platform's products. */
  readonly ids: readonly string[];
}

async function createWorld(engine: Engine, products: number): Promise<World> {
  const standIn = startPlatform({ products, variants: [1, 3], images: [1, 3] });
  const database = await openDatabase(await createStore(engine));
  afterAll(() => closeDatabase(database));
  return { standIn, database, ids: standIn.catalog.ids(0, products) };
}

const connect = ({ standIn }: World) => connectPlatform(standIn);
const sync = async (world: World) => doWork(world.database, catalogSync(await connect(world), 0.2));
/** @param how "page by page" if bulk runs fail */
const reconcile = async (world: World, how = "in bulk", platform?: Platform) => {
  if (how === "page by page") world.standIn.faults.add({ kind: "bulkFailed", count: 4 });
  return doWork(world.database, catalogReconcile(platform ?? (await connect(world)), 0.2, "all", log));
};
const readDelivered = async (world: World, id: string) =>
  createPushReader({ database: world.database, platform: await connect(world), log, maxRemovedShare: 0.2 })(
    BigInt(id),
    new AbortController().signal,
  );

async function stored({ database }: World, id: string): Promise<Product> {
  const document = (await listDocuments(database, [BigInt(id)])).get(id);
  if (document === undefined) throw new Error(`product ${id} is not stored`);
  return parseJson(document) as Product;
}

for (const engine of enginesOf("sqlite")) {
  describe(`on ${engine}, an optional field that is refused`, () => {
    const isKept = ({ tags, body_html, variants, metafields, images }: Product) => ({
      tags,
      body_html,
      alt: images.map(({ alt }) => alt),
      barcodes: variants.map(({ barcode, grams, metafields }) => [barcode, grams, metafields]),
      descriptions: metafields.map(({ description }) => description),
    });
    const refusals = {
      denied: ["Product.tags", "ProductVariant.barcode", "ProductVariant.metafields", "Image.altText"],
      removed: ["Product.descriptionHtml", "InventoryItem.measurement", "Metafield.description"],
    };
    /** Syncs products whose optional fields are refused from then on. */
    const createRefusal = async () => {
      const world = await createWorld(engine, 6);
      await sync(world);
      const [first = "", second = ""] = world.ids;
      const before = await stored(world, first);
      world.standIn.fields.change(refusals);
      return { world, standIn: world.standIn, first, second, before };
    };

    test("keeps its last stored value, in a sync", async () => {
      const { world, standIn, first, second, before } = await createRefusal();
      const changes = { title: "Edited", tags: ["other"], descriptionHtml: "other" };
      standIn.catalog.touch(first, { product: changes, variants: { 1: { barcode: "other" } } });
      standIn.catalog.touch(second, { product: { title: "Also edited" } });
      const { counts, notes, error } = await sync(world);
      expect(error).toBeUndefined();
      expect(counts).toBe(2);
      expect(notes).toHaveLength(1);
      for (const name of ["body_html", "tags", "image.alt", "variant.barcode", "variant.metafields", "variant.grams"]) {
        expect(notes[0]).toContain(name);
      }
      const after = await stored(world, first);
      expect(after.title).toBe("Edited");
      expect(isKept(after)).toEqual(isKept(before));
    });

    test("keeps its last stored value, in a read after a delivery", async () => {
      const { world, standIn, first, before } = await createRefusal();
      standIn.catalog.touch(first, { product: { title: "Delivered", tags: ["delivered"] } });
      await readDelivered(world, first);
      const after = await stored(world, first);
      expect(after.title).toBe("Delivered");
      expect(isKept(after)).toEqual(isKept(before));
    });

    test("keeps its last stored value, in a comparison of the catalog, and is read again once it is granted", async () => {
      const { world, standIn, first, before } = await createRefusal();
      standIn.catalog.touch(first, { product: { title: "Edited again", tags: ["third"] } }, { keepUpdatedAt: true });
      const added = standIn.catalog.add({ product: { title: "New", tags: ["new"] } });
      const { notes, error } = await reconcile(world);
      expect(error).toBeUndefined();
      expect(notes).toEqual([expect.stringMatching(/^warning: the platform refuses .*tags/)]);
      expect(standIn.counters.bulkRuns).toBe(2);
      const after = await stored(world, first);
      expect(after.title).toBe("Edited again");
      expect(isKept(after)).toEqual(isKept(before));
      expect(await stored(world, added)).toMatchObject({ title: "New", tags: "", body_html: "" });

      standIn.fields.change({});
      expect((await reconcile(world)).notes).toEqual([]);
      expect((await stored(world, first)).tags).toBe("third");
    });
  });

  describe(`on ${engine}, a required field that is refused`, async () => {
    const world = await createWorld(engine, 40);
    const { standIn, database, ids } = world;
    await sync(world);
    const read = () => listDocuments(database, ids.map(BigInt));
    const before = await read();

    test.each([
      ["denied", "ProductVariant.price"],
      ["removed", "ProductVariant.inventoryQuantity"],
      ["denied", "Product.images"],
      ["removed", "Product.options"],
      ["denied", "Product.variants"],
    ] as const)("fails the run, which writes nothing and soon stops asking: %s %s", async (how, field) => {
      for (const id of ids) standIn.catalog.touch(id, { product: { title: `Edited ${field}` } });
      standIn.fields.change({ [how]: [field] });
      for (const start of [sync, reconcile]) {
        standIn.counters.reset();
        const { counts, error } = await start(world);
        expect(error?.message).toMatch(how === "denied" ? /ACCESS_DENIED/ : /undefinedField/);
        expect(error?.message).toContain(
          `without ${field} no product is written, and the stored ones are served: check the scopes of the app`,
        );
        expect(counts).toBe(0);
        expect(countPlatformRequests(standIn)).toBeLessThan(15);
      }
      expect(await read()).toEqual(before);
    });
  });

  describe(`on ${engine}, a product that cannot be converted`, () => {
    const fine = { product: { publishedAt: "2026-01-01T00:00:00Z", title: "Fine" } };
    const createBad = async (products: number) => {
      const world = await createWorld(engine, products);
      const { standIn, database, ids } = world;
      const [bad = "", good = ""] = ids;
      const reason = expect.stringMatching(new RegExp(`^warning: product ${bad} cannot be (read|converted): .+`));
      const spoil = () => standIn.catalog.touch(bad, { product: { publishedAt: "yesterday", title: "Bad" } });
      spoil();
      return { world, standIn, database, bad, good, reason, spoil };
    };

    test("is named, and the others are stored, in a sync", async () => {
      const { world, reason } = await createBad(120);
      const { counts, notes, error } = await sync(world);
      expect({ counts, notes, error }).toEqual({ counts: 119, notes: [reason], error: undefined });
    });

    test.each(["in bulk", "page by page"])("is named, and the others are stored, %s", async (how) => {
      const { world, standIn, database, bad, good, reason } = await createBad(120);
      standIn.catalog.touch(good, { product: { title: how } });
      const { notes, error } = await reconcile(world, how);
      expect(error).toBeUndefined();
      expect(notes.slice(-1)).toEqual([reason]);
      expect((await stored(world, good)).title).toBe(how);
      expect(await findProduct(database, BigInt(bad))).toBeUndefined();
    });

    test("keeps being served as it was", async () => {
      const { world, standIn, database, bad, reason, spoil } = await createBad(6);
      await sync(world);
      standIn.catalog.touch(bad, fine);
      expect((await sync(world)).notes).toEqual([]);
      spoil();
      expect((await sync(world)).notes).toEqual([reason]);
      expect((await stored(world, bad)).title).toBe("Fine");
      expect(await findProduct(database, BigInt(bad))).toMatchObject({ checkedAt: null });
    });

    test("is not read again by a sync until something newer is known of it", async () => {
      const { world, standIn, bad } = await createBad(6);
      await sync(world);
      const reads = async () => {
        standIn.counters.reset();
        expect((await sync(world)).error).toBeUndefined();
        return countPlatformRequests(standIn, "ProductById");
      };
      expect(await reads()).toBe(0);
      const added = standIn.catalog.add({ product: { publishedAt: "tomorrow" } });
      expect(await reads()).toBe(1);
      expect(await reads()).toBe(0);
      standIn.catalog.touch(bad, { product: { title: "Still bad" } });
      expect(await reads()).toBe(1);
      expect(await reads()).toBe(0);
      standIn.catalog.touch(added, { product: { publishedAt: "2026-01-01T00:00:00Z", title: "Good" } });
      expect(await reads()).toBe(1);
      expect((await stored(world, added)).title).toBe("Good");
    });

    test("is stored by a comparison, which reads it in any case", async () => {
      const { world, standIn, database, bad } = await createBad(6);
      await sync(world);
      standIn.catalog.touch(bad, fine, { keepUpdatedAt: true });
      await reconcile(world);
      expect((await stored(world, bad)).title).toBe("Fine");
      expect((await findProduct(database, BigInt(bad)))?.checkedAt).toBeString();
    });

    test("is not read again and again after a delivery", async () => {
      const { world, standIn, database, bad, spoil } = await createBad(6);
      standIn.catalog.touch(bad, fine);
      await sync(world);
      spoil();
      await sync(world);
      expect(await readDelivered(world, bad)).toBe("settled");
      expect((await stored(world, bad)).title).toBe("Fine");
      expect(await findProduct(database, BigInt(bad))).toMatchObject({ checkedAt: null });
      expect(await listUnsettledProducts(database)).toEqual([]);
      await noteDelivery(database, [{ id: BigInt(bad) }]);
      expect(await listUnsettledProducts(database)).toEqual([BigInt(bad)]);
    });
  });

  describe(`on ${engine}, an image whose ID cannot be converted`, () => {
    type Images = NonNullable<ProductChanges["images"]>;
    /** From then on, the images of these products have the ids of media; `updatedAt` stays. */
    const rename = ({ standIn }: World, ids: readonly string[], changes: Images = {}, more: ProductChanges = {}) => {
      for (const id of ids) {
        const images = [1, 2, 3, 4].map((position) => {
          const gid = `gid://shopify/MediaImage/${id}${position}`;
          return [position, { id: gid, ...changes[position] }] as const;
        });
        const product = { title: "Renamed" };
        const edit = { images: Object.fromEntries(images), product, ...more } as ProductChanges;
        standIn.catalog.touch(id, edit, { keepUpdatedAt: true });
      }
    };
    const imagesOf = ({ images, image, variants }: Product) => ({
      images,
      image,
      shown: variants.map(({ image_id }) => image_id),
    });

    test.each(["in bulk", "page by page"])("has the ID that the stored one at its address has, %s", async (how) => {
      const world = await createWorld(engine, 30);
      const { ids } = world;
      await sync(world);
      const before = await Promise.all(ids.map((id) => stored(world, id)));
      expect(before.some(({ variants }) => variants.some(({ image_id }) => image_id !== null))).toBe(true);
      rename(world, ids, { 2: { altText: "Edited" } });
      const { notes, error } = await reconcile(world, how);
      expect(error).toBeUndefined();
      expect(notes.filter((text) => text.includes("image"))).toEqual([]);
      for (const [index, id] of ids.entries()) {
        const { images, ...rest } = imagesOf(before[index] as Product);
        const edited = images.map((image) => (image.position === 2 ? { ...image, alt: "Edited" } : image));
        const after = await stored(world, id);
        expect(after.title).toBe("Renamed");
        expect(imagesOf(after)).toEqual({ ...rest, images: edited });
      }
    });

    test("has the ID of the stored one that it must be, or its medium's, or is named", async () => {
      const { standIn, ...world } = await createWorld(engine, 6);
      const each: World = { ...world, standIn };
      for (const id of world.ids) standIn.catalog.touch(id, { shape: { images: 3, variants: 3 } });
      await sync(each);
      const before = await Promise.all(world.ids.map((id) => stored(each, id)));
      const [edited = "", moved = "", added = "", removed = "", replaced = "", unknown = ""] = world.ids;
      const addressOf = (id: string, position: number) =>
        before[world.ids.indexOf(id)]?.images[position - 1]?.src.replace(/\?.*/, "?v=2") ?? "";
      const url = "https://cdn.shopify.com/s/files/1/0533/2089/new.jpg?v=1";
      rename(each, [edited], { 2: { url } });
      rename(each, [moved], { 1: { url: addressOf(moved, 2) }, 2: { url: addressOf(moved, 1) } });
      rename(each, [added], { 1: { altText: "Beside" } }, { shape: { images: 4, variants: 4 } });
      rename(each, [removed], {}, { shape: { images: 2 } });
      rename(each, [replaced], { 1: { url: addressOf(replaced, 2) }, 2: { url } });
      const odd = { url, id: "gid://shopify/Picture/1" };
      rename(each, [unknown], { 1: { url: addressOf(unknown, 2) }, 2: odd }, { shape: { variants: 6 } });
      const { notes, error } = await reconcile(each);
      expect(error).toBeUndefined();
      expect(notes.filter((note) => note.includes("image"))).toEqual([
        `warning: product ${unknown}: the image ${odd.id} cannot be converted; the stored images are kept`,
      ]);
      const after = await Promise.all(world.ids.map((id) => stored(each, id)));
      const places = after.map(({ images }, index) =>
        images.map(({ id }) => before[index]?.images.findIndex((image) => image.id === id)),
      );
      expect(places).toEqual([
        [0, 1, 2],
        [1, 0, 2],
        [0, 1, 2, -1],
        [0, 1],
        [1, -1, 2],
        [0, 1, 2],
      ]);
      expect(`${after[2]?.images[3]?.id}`).toBe(`${added}4`);
      expect(`${after[4]?.images[1]?.id}`).toBe(`${replaced}2`);
      expect(after[0]?.images[1]?.src).toBe(url);
      expect(after[2]?.images[0]?.alt).toBe("Beside");
      expect(after[5]?.images.map(({ src }) => src)).toEqual(before[5]?.images.map(({ src }) => src) ?? []);
      // Variants that are new show none.
      expect(after[5]?.variants.map(({ image_id }) => image_id)).toEqual(
        [0, 1, 2, 3, 4, 5].map((index) => before[5]?.variants[index]?.image_id ?? null),
      );
      for (const { images, image, variants } of after) {
        expect(images.map(({ position }) => position)).toEqual(images.map((_, index) => index + 1));
        expect(image).toEqual(images[0] ?? null);
        for (const { id, variant_ids, admin_graphql_api_id } of images) {
          expect(admin_graphql_api_id).toMatch(new RegExp(`^gid://shopify/(Product|Media)Image/${id}$`));
          expect(variants.filter(({ image_id }) => image_id === id).map((variant) => variant.id)).toEqual(variant_ids);
        }
      }
    });

    test("has it in a sync and in a read after a delivery, too", async () => {
      const world = await createWorld(engine, 3);
      const { standIn } = world;
      const [first = "", second = ""] = world.ids;
      await sync(world);
      const before = [await stored(world, first), await stored(world, second)];
      rename(world, [first, second]);
      standIn.catalog.touch(first, { product: { title: "Synced" } });
      const { notes, error } = await sync(world);
      expect({ notes, error }).toEqual({ notes: [], error: undefined });
      await readDelivered(world, second);
      const after = [await stored(world, first), await stored(world, second)];
      expect(after.map(({ title }) => title)).toEqual(["Synced", "Renamed"]);
      expect(after.map(imagesOf)).toEqual(before.map(imagesOf));
    });

    test("has the ID of its medium in a product that is new", async () => {
      const world = await createWorld(engine, 3);
      const [first = ""] = world.ids;
      rename(world, [first], {}, { shape: { images: 2 } });
      expect((await sync(world)).notes).toEqual([]);
      const { images } = await stored(world, first);
      expect(images).toHaveLength(2);
      const byMedium = images.map(({ position }) => `${first}${position}`);
      expect(images.map(({ id }) => `${id}`)).toEqual(byMedium);
      // It keeps that at another place and address.
      const swap = (position: number) => ({
        id: `gid://shopify/MediaImage/${first}${3 - position}`,
        url: `https://cdn.shopify.com/s/files/1/0533/2089/${position}.jpg?v=2`,
      });
      rename(world, [first], { 1: swap(1), 2: swap(2) });
      expect((await reconcile(world)).notes).toEqual([]);
      const swapped = (await stored(world, first)).images.map(({ id }) => `${id}`);
      expect(swapped).toEqual(byMedium.toReversed());
    });
  });

  describe(`on ${engine}, products that lose images without a later time`, () => {
    const lose = ({ standIn }: World, ids: readonly string[]) => {
      for (const id of ids) standIn.catalog.touch(id, { shape: { images: 0 } }, { keepUpdatedAt: true });
    };

    test.each(["in bulk", "page by page"])("keep them if they are too many, %s", async (how) => {
      const world = await createWorld(engine, 30);
      const { standIn, ids } = world;
      await sync(world);
      const before = await Promise.all(ids.map((id) => stored(world, id)));
      lose(world, ids.slice(0, 7));
      standIn.catalog.touch(ids[8] ?? "", { product: { title: "Edited" } }, { keepUpdatedAt: true });
      const { error } = await reconcile(world, how);
      expect(error?.message).toBe(
        "7 of 30 products would lose images, more than 20%: these are kept as they are; " +
          "if this is correct, raise max_removed_share of [jobs.catalog-reconcile]",
      );
      const after = await Promise.all(ids.map((id) => stored(world, id)));
      expect(after.slice(0, 7)).toEqual(before.slice(0, 7));
      expect(after[8]?.title).toBe("Edited");
    });

    test.each(["in bulk", "page by page"])("are stored if they are few, %s", async (how) => {
      const world = await createWorld(engine, 30);
      const { ids } = world;
      await sync(world);
      lose(world, ids.slice(0, 6));
      const { error, counts } = await reconcile(world, how);
      expect({ error, counts }).toEqual({ error: undefined, counts: 6 });
      for (const id of ids.slice(0, 6)) expect(await stored(world, id)).toMatchObject({ images: [], image: null });
    });
  });

  test.each(["in bulk", "page by page"])(
    `on ${engine}, a count that is too high keeps a comparison %s from removing, not from writing`,
    async (how) => {
      const world = await createWorld(engine, 8);
      const { standIn, database, ids } = world;
      const [edited = "", deleted = ""] = ids;
      await reconcile(world);
      standIn.catalog.touch(edited, { product: { title: "Edited" } });
      standIn.catalog.remove(deleted);
      const platform: Platform = { ...(await connect(world)), countProducts: async () => 8 };
      const { error } = await reconcile(world, how, platform);
      expect(error?.message).toStartWith(
        "the platform announced 8 products, but delivered 7: these are written, and none",
      );
      expect((await stored(world, edited)).title).toBe("Edited");
      expect(await findProduct(database, BigInt(deleted))).toBeDefined();
    },
  );

  test(`on ${engine}, a product that has no variants in a read of the whole catalog is read alone`, async () => {
    const world = await createWorld(engine, 3);
    const platform = await connect(world);
    const [first = ""] = world.ids;
    const isFirst = (read: PlatformProduct | UnusableProduct): read is PlatformProduct =>
      "product" in read && `${read.product.id}` === first;
    const cut: Platform = {
      ...platform,
      async readCatalog(shop, signal) {
        const snapshot = await platform.readCatalog(shop, signal);
        const readProducts = async function* () {
          for await (const batch of snapshot.readProducts()) {
            yield [...batch].map((read) =>
              isFirst(read) ? { ...read, product: { ...read.product, variants: [] } } : read,
            );
          }
        };
        return { ...snapshot, readProducts, [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose]() };
      },
    };
    const { error } = await reconcile(world, "in bulk", cut);
    expect(error).toBeUndefined();
    expect((await stored(world, first)).variants).not.toEqual([]);
  });

  test(`on ${engine}, a product of several pages is not stored so soon after a delivery that they may differ`, async () => {
    const world = await createWorld(engine, 1);
    const long = world.standIn.catalog.add({ shape: { metafields: 260 } });
    const [short = ""] = world.ids;
    await noteDelivery(world.database, [{ id: BigInt(long) }, { id: BigInt(short) }]);
    expect([await readDelivered(world, long), await readDelivered(world, short)]).toEqual(["unsettled", "unsettled"]);
    const has = await listDocuments(world.database, [BigInt(long), BigInt(short)]);
    expect([...has.keys()]).toEqual([short]);
    // Another read, after the delivery cannot lag any more.
    await world.database.sql`UPDATE product_news SET settles_at = '2026-01-01T00:00:00.000Z'`;
    expect(await readDelivered(world, long)).toBe("settled");
  });

  test(`on ${engine}, products that the platform cannot send are named, and do not fail a sync of the others`, async () => {
    const world = await createWorld(engine, 60);
    const { standIn, ids } = world;
    // The platform has no such unit, so that it responds with an error about a field of the product.
    const broken = { inventoryItems: { 1: { measurement: { weight: { unit: "STONES", value: 1 } } } } };
    for (const id of ids.slice(0, 12)) standIn.catalog.touch(id, broken as ProductChanges);
    const { counts, notes, error } = await sync(world);
    expect(error).toBeUndefined();
    expect(counts).toBe(48);
    expect(notes[0]).toMatch(/^warning: product \d+ cannot be read: .*STONES/);
    expect(notes).toHaveLength(12);
    // They are read again when there is news of them.
    standIn.counters.reset();
    expect(await sync(world)).toMatchObject({ counts: 0, error: undefined });
    expect(countPlatformRequests(standIn, "ProductById")).toBe(0);
    const [first = ""] = ids;
    const whole = { inventoryItems: { 1: { measurement: { weight: { unit: "POUNDS", value: 1 } } } } };
    standIn.catalog.touch(first, whole as ProductChanges);
    expect(await sync(world)).toMatchObject({ counts: 1, error: undefined });
  });

  test.each(["catalog-sync", "catalog-reconcile"])(
    `on ${engine}, responses that the schema excludes fail %s and change nothing`,
    async (job) => {
      const world = await createWorld(engine, 30);
      await sync(world);
      const before = await listDocuments(world.database, world.ids.map(BigInt));
      for (const id of world.ids) world.standIn.catalog.touch(id, { product: { title: "Edited" } });
      const { origin } = relay(
        world.standIn,
        (document) => document,
        (text) => text.replace(/"pageInfo":\{[^}]*\}/g, '"pageInfo":null'),
      );
      // Retries without a pause.
      using _random = spyOn(Math, "random").mockReturnValue(0);
      const through = { ...world, standIn: { ...world.standIn, origin } };
      const { counts, error } = await (job === "catalog-sync" ? sync(through) : reconcile(through));
      expect(error?.message).toMatch(/^Shopify request \w+ failed: the response has no valid data.products.pageInfo$/);
      expect(counts).toBe(0);
      expect(await listDocuments(world.database, world.ids.map(BigInt))).toEqual(before);
    },
  );

  test(`on ${engine}, a product dated in the future does not hide the changes until then`, async () => {
    const world = await createWorld(engine, 3);
    const { standIn, ids } = world;
    const [first = "", second = ""] = ids;
    const nowS = Math.floor(Date.now() / 1000);
    // A product that cannot settle is read several times.
    const syncQuickly = async () =>
      doWork(world.database, catalogSync({ ...(await connect(world)), rereadMs: 1 }, 0.2));
    standIn.catalog.touch(first, {}, { at: nowS + 3600 });
    await syncQuickly();
    standIn.catalog.touch(second, { product: { title: "Edited" } }, { at: nowS });
    await syncQuickly();
    expect((await stored(world, second)).title).toBe("Edited");
  });

  test(`on ${engine}, a question that keeps failing is not asked for every product`, async () => {
    const world = await createWorld(engine, 400);
    world.standIn.faults.add({ kind: "status", status: 406, operation: "ProductById", count: 400 });
    const { error, notes } = await sync(world);
    expect(error?.message).toContain("ProductById failed: status 406");
    expect(notes.length).toBeLessThan(12);
    expect(countPlatformRequests(world.standIn, "ProductById")).toBeLessThan(15);
    world.standIn.faults.clear();
    // A request that was already waiting for its points is still sent.
    expect((await sync(world)).counts).toBeWithin(390, 401);
  });

  test(`on ${engine}, a comparison page by page continues where it was stopped`, async () => {
    const world = await createWorld(engine, 230);
    const { standIn, ids } = world;
    standIn.faults.add({ kind: "bulkFailed", count: 100 });
    standIn.faults.add({ kind: "status", status: 406, operation: "ProductsPage", skip: 4 });
    expect((await reconcile(world)).error?.message).toContain("ProductsPage failed: status 406");
    standIn.counters.reset();
    const { counts, notes, error } = await reconcile(world);
    expect(error).toBeUndefined();
    expect(notes.at(-1)).toStartWith("continued after product ");
    // One of the requests looks for refused fields.
    expect(countPlatformRequests(standIn, "ProductsPage")).toBe(1 + 2);
    expect(counts).toBe(230 - 150);
    expect((await listDocuments(world.database, ids.map(BigInt))).size).toBe(230);
    standIn.counters.reset();
    expect((await reconcile(world)).notes).toHaveLength(1);
    expect(countPlatformRequests(standIn, "ProductsPage")).toBe(1 + 5);
    expect(countPlatformRequests(standIn, "ProductById")).toBe(0);
  });

  test(`on ${engine}, a comparison page by page reads again only what could not be read`, async () => {
    const world = await createWorld(engine, 230);
    const { standIn, ids, database } = world;
    const [broken = "", removed = ""] = ids;
    await sync(world);
    // The platform has no such unit, so that it responds with an error about a field of the product.
    const unit = { inventoryItems: { 1: { measurement: { weight: { unit: "STONES", value: 1 } } } } };
    standIn.catalog.touch(broken, unit as ProductChanges);
    standIn.catalog.remove(removed);
    standIn.faults.add({ kind: "bulkFailed", count: 100 });
    const failOnce = () => standIn.faults.add({ kind: "status", status: 406, operation: "ProductById" });
    failOnce();
    const { error } = await reconcile(world);
    expect(error?.message).toBe("1 of 229 products could not be read; the next run tries these again");
    expect(await findProduct(database, BigInt(removed))).toBeUndefined();
    const pagesRead = async () => {
      standIn.counters.reset();
      const { error: failure } = await reconcile(world);
      return { pages: countPlatformRequests(standIn, "ProductsPage"), failed: failure !== undefined };
    };
    failOnce();
    // One of the requests looks for refused fields, one for products after the last.
    expect(await pagesRead()).toEqual({ pages: 1 + 1, failed: true });
    expect(await pagesRead()).toEqual({ pages: 1 + 1, failed: false });
    expect((await stored(world, broken)).title).toBeString();
    expect(await pagesRead()).toEqual({ pages: 1 + 5, failed: false });
  });
}
