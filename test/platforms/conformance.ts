import { describe, expect, test } from "bun:test";
import { productSchema } from "../../src/contract/product.ts";
import {
  BulkReadError,
  type ListedProduct,
  type Platform,
  PlatformError,
  type PlatformProduct,
} from "../../src/platforms/platform.ts";

/**
 * A platform under test, and the means to change what it sells. All products were last changed over
 * a minute ago.
 */
export interface PlatformFixture {
  readonly platform: Platform;
  /** Whether it reads the whole catalog at once. */
  readonly hasBulk: boolean;
  /** Whether it lists deletions. */
  readonly hasDeletions: boolean;
  /** Identifiers of the products that it has now: at least three, one of them beyond 2^53. */
  ids(): string[];
  /** Changes a product's title now. */
  edit(id: string, title: string): Promise<unknown> | unknown;
  remove(id: string): Promise<unknown> | unknown;
  /** Makes every request fail permanently until the returned function is called. */
  fail(): Promise<() => unknown> | (() => unknown);
}

const unknownId = 4_611_686_018_427_387_904n;
/** Platforms date changes by whole seconds, so that one at the end of a second settles sooner. */
const untilNextSecond = () => Bun.sleep(1000 - (Date.now() % 1000));

/** Platforms date by whole seconds. */
const datePrecisionMs = 2000;

/**
 * Checks that a call dates its request by the platform's clock, which is that of the test. The date
 * may be early by as long as the response took, because a response tells when it was sent.
 */
async function expectDated<Read extends { readonly readAtMs: number }>(call: () => Promise<Read>): Promise<Read> {
  const beforeMs = Date.now();
  const read = await call();
  const afterMs = Date.now();
  const earliestMs = beforeMs - (afterMs - beforeMs) - datePrecisionMs;
  expect(read.readAtMs).toBeGreaterThanOrEqual(earliestMs);
  expect(read.readAtMs).toBeLessThanOrEqual(afterMs);
  return read;
}

const signal = new AbortController().signal;
const live = { priority: "live", signal } as const;

async function listAll(platform: Platform, sinceMs?: number): Promise<ListedProduct[]> {
  const listed: ListedProduct[] = [];
  for await (const page of platform.listProducts(sinceMs, signal)) listed.push(...page);
  return listed;
}

const idsOf = (listed: readonly ListedProduct[]) => listed.map(({ id }) => `${id}`);

/** The whole catalog by product id; undefined when the platform cannot read it at once. */
async function readWhole(platform: Platform) {
  const shop = await platform.readShop(signal);
  const snapshot = await platform.readCatalog(shop, signal).catch((error: Error) => {
    expect(error).toBeInstanceOf(BulkReadError);
    return undefined;
  });
  if (snapshot === undefined) return undefined;
  await using _ = snapshot;
  const products = new Map<string, PlatformProduct>();
  for await (const batch of snapshot.readProducts()) {
    for (const read of batch) {
      if ("unusable" in read) throw new Error(`product ${read.id} ${read.unusable}`);
      products.set(`${read.product.id}`, read);
    }
  }
  return { ids: [...snapshot.ids].map(String), unsettledSinceMs: snapshot.unsettledSinceMs, products };
}

/** Every way to ask a platform something. */
const requests: Record<string, (platform: Platform, signal: AbortSignal) => Promise<unknown>> = {
  readShop: (platform, signal) => platform.readShop(signal),
  listProducts: (platform, signal) => Array.fromAsync(platform.listProducts(undefined, signal)),
  readCatalog: (platform, signal) =>
    platform
      .readCatalog({ id: "any", timeZone: "UTC", weightUnit: "POUNDS", readAtMs: Date.now() }, signal)
      .catch((error) => {
        // A platform may answer a failed bulk read so that the products are read one by one instead.
        if (error instanceof BulkReadError) return platform.readProduct(unknownId, { priority: "sync", signal });
        throw error;
      }),
  readProduct: (platform, signal) => platform.readProduct(unknownId, { priority: "sync", signal }),
  findProductId: (platform, signal) => platform.findProductId("no-such-handle", { priority: "live", signal }),
  countProducts: (platform, signal) => platform.countProducts(signal),
  listDeletions: (platform, signal) => Array.fromAsync(platform.listDeletions(0, signal)),
};

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

type Expectation = (fixture: PlatformFixture) => Promise<void>;

/** What every implementation of Platform must do. */
const expectations: Record<string, Expectation> = {
  "names its shop and its settings for people": async ({ platform }) => {
    expect(platform.source).not.toBe("");
    expect(platform.settings).not.toBe("");
  },

  "identifies the shop, its time zone, and the platform's time": async ({ platform }) => {
    const shop = await expectDated(() => platform.readShop(signal));
    expect(shop.id).not.toBe("");
    expect(() => new Intl.DateTimeFormat("en-US", { timeZone: shop.timeZone })).not.toThrow();
    expect((await platform.readShop(signal)).id).toBe(shop.id);
  },

  "lists every product once, the oldest change first": async ({ platform, ids }) => {
    const listed = await listAll(platform);
    expect(idsOf(listed).toSorted()).toEqual(ids().toSorted());
    const times = listed.map(({ updatedAt }) => updatedAt);
    expect(times).toEqual(times.toSorted());
    expect(new Set(times.map((time) => time.replaceAll(/\d/g, "0"))).size).toBe(1);
    expect(times.every((time) => time.endsWith("Z") && !Number.isNaN(Date.parse(time)))).toBe(true);
  },

  "reads a product in the contract's shape, from the shop that it names": async ({ platform }) => {
    const { id: shopId } = await platform.readShop(signal);
    for (const { id, updatedAt } of await listAll(platform)) {
      const { found, ...reading } = await platform.readProduct(id, live);
      expect(reading.shopId).toBe(shopId);
      expect(productSchema.safeParse(found?.product).error?.issues).toBeUndefined();
      expect(`${found?.product.id}`).toBe(`${id}`);
      expect(found).toMatchObject({ updatedAt, isSettled: true });
      expect(Date.parse(found?.product.updated_at ?? "")).toBe(Date.parse(updatedAt));
    }
  },

  "reads identifiers beyond 2^53 exactly": async ({ platform, ids }) => {
    const huge = ids().find((id) => BigInt(id) > BigInt(Number.MAX_SAFE_INTEGER)) ?? "";
    expect((await platform.readProduct(BigInt(huge), live)).found?.product.id).toBe(BigInt(huge));
  },

  "finds the product that has a handle": async ({ platform }) => {
    for (const { id } of await listAll(platform)) {
      const { found } = await platform.readProduct(id, live);
      expect(await platform.findProductId(found?.product.handle ?? "", live)).toBe(id);
    }
    for (const handle of ["no-such-handle", "", "ø", 'a"b', "a b"]) {
      expect(await platform.findProductId(handle, live)).toBeUndefined();
    }
  },

  "counts its products": async ({ platform, ids }) => {
    expect(await platform.countProducts(signal)).toBe(ids().length);
  },

  "dates a read by the platform's clock": async ({ platform, ids }) => {
    const [id = ""] = ids();
    await expectDated(() => platform.readProduct(BigInt(id), live));
  },

  "finds nothing for an unknown identifier": async ({ platform }) => {
    expect((await platform.readProduct(unknownId, live)).found).toBeUndefined();
  },

  "reads the whole catalog as it reads each product, or refuses": async ({ platform, hasBulk, ids }) => {
    const whole = await readWhole(platform);
    expect(whole !== undefined).toBe(hasBulk);
    if (whole === undefined) return;
    expect(whole.ids.toSorted()).toEqual(ids().toSorted());
    expect([...whole.products.keys()].toSorted()).toEqual(ids().toSorted());
    for (const [id, read] of whole.products) {
      expect(read).toEqual((await platform.readProduct(BigInt(id), live)).found as PlatformProduct);
    }
  },

  "lists a change, which settles within three pauses": async ({ platform, ids, edit }) => {
    const [id = ""] = ids();
    await untilNextSecond();
    const beforeMs = Math.floor(Date.now() / 1000) * 1000;
    await edit(id, "Edited");
    let { found } = await platform.readProduct(BigInt(id), live);
    expect(found?.isSettled).toBe(false);
    expect(idsOf(await listAll(platform, beforeMs))).toEqual([id]);
    for (let wait = 1; wait <= 3 && !found?.isSettled; wait++) {
      await Bun.sleep(platform.rereadMs * 2 ** (wait - 1));
      ({ found } = await platform.readProduct(BigInt(id), live));
    }
    expect([found?.isSettled, found?.product.title]).toEqual([true, "Edited"]);
  },

  "reports a change as unsettled when it reads the whole catalog": async ({ platform, ids, edit }) => {
    const [, id = ""] = ids();
    await untilNextSecond();
    await edit(id, "Edited again");
    const whole = await readWhole(platform);
    if (whole === undefined) return;
    expect(whole.products.get(id)?.isSettled ?? false).toBe(false);
    expect(idsOf(await listAll(platform, whole.unsettledSinceMs))).toContain(id);
  },

  "forgets a product that was removed": async ({ platform, hasDeletions, ids, remove }) => {
    const [, , id = ""] = ids();
    const beforeMs = Math.floor(Date.now() / 1000) * 1000;
    await remove(id);
    const deletions = (await Array.fromAsync(platform.listDeletions(beforeMs, signal))).flat();
    expect(deletions.map((deletion) => `${deletion.id}`)).toEqual(hasDeletions ? [id] : []);
    for (const { deletedAt } of deletions) expect(Date.parse(deletedAt)).toBeGreaterThanOrEqual(beforeMs);
    expect((await platform.readProduct(BigInt(id), live)).found).toBeUndefined();
    expect(idsOf(await listAll(platform))).not.toContain(id);
    const whole = await readWhole(platform);
    if (whole !== undefined) expect(whole.ids).not.toContain(id);
  },

  "stops when it is aborted, which is not the platform's failure": async ({ platform }) => {
    for (const [name, request] of Object.entries(requests)) {
      const error = await rejection(request(platform, AbortSignal.abort(new Error("stopped"))));
      expect([name, (error as Error | undefined)?.message]).toEqual([name, "stopped"]);
      expect(error).not.toBeInstanceOf(PlatformError);
    }
  },

  "reports a failed request as PlatformError": async ({ platform, fail }) => {
    const recover = await fail();
    for (const [name, request] of Object.entries(requests)) {
      expect([name, await rejection(request(platform, signal))]).toEqual([name, expect.any(PlatformError)]);
    }
    await recover();
    expect(await listAll(platform)).not.toEqual([]);
  },
};

/** Checks an implementation of Platform against every expectation, each with a fixture of its own. */
export function testPlatform(name: string, createFixture: () => Promise<PlatformFixture>): void {
  describe(`platform ${name}`, () => {
    test.each(Object.entries(expectations))("%s", async (_, expectation) => expectation(await createFixture()));
  });
}
