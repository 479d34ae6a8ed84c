import { readProducts } from "../../src/catalog/product-files.ts";
import { toId } from "../../src/contract/product-values.ts";
import {
  BulkReadError,
  type ListedProduct,
  lagMs,
  type Platform,
  PlatformError,
  type PlatformProduct,
} from "../../src/platforms/platform.ts";

/**
 * Timestamps have whole seconds: a product may change again within the second of its last change.
 */
const settleMs = 1000;
const pageSize = 2;

/**
 * A platform whose catalog is a product file: the second implementation, which shows that the
 * catalog depends only on the interface.
 */
export function createFilePlatform(path: string, { hasBulk = true } = {}): Platform {
  const shopId = "files";

  const readAll = async (signal: AbortSignal): Promise<PlatformProduct[]> => {
    signal.throwIfAborted();
    const readAtMs = Date.now();
    const products: PlatformProduct[] = [];
    try {
      for await (const document of readProducts([path])) {
        if ("rejected" in document) throw new Error(document.rejected[0]?.reason);
        if ("ignored" in document) continue;
        const { product } = document;
        const updatedAtMs = Date.parse(product.updated_at);
        const updatedAt = `${new Date(updatedAtMs).toISOString().slice(0, 19)}Z`;
        products.push({ product, updatedAt, isSettled: readAtMs >= updatedAtMs + settleMs });
      }
    } catch (cause) {
      throw new PlatformError(`${path} cannot be read`, { cause });
    }
    return products.toSorted((a, b) => (a.updatedAt < b.updatedAt ? -1 : 1));
  };

  async function* listProducts(sinceMs: number | undefined, signal: AbortSignal): AsyncGenerator<ListedProduct[]> {
    const products = await readAll(signal);
    yield products
      .filter(({ updatedAt }) => sinceMs === undefined || Date.parse(updatedAt) >= Math.floor(sinceMs / 1000) * 1000)
      .map(({ product, updatedAt }) => ({ id: BigInt(product.id), updatedAt }));
  }

  const readShop = async (signal: AbortSignal) => {
    const readAtMs = Date.now();
    await readAll(signal);
    return { id: shopId, timeZone: "UTC", weightUnit: "POUNDS", readAtMs };
  };

  return {
    source: path,
    settings: "the product file",
    rereadMs: settleMs,
    readShop,
    check: readShop,
    listProducts,
    async readCatalog({ readAtMs }, signal) {
      const products = await readAll(signal);
      if (!hasBulk) throw new BulkReadError("the file is not read at once");
      const unsettledSinceMs = readAtMs - settleMs;
      const isSettled = ({ updatedAt }: PlatformProduct) => Date.parse(updatedAt) < unsettledSinceMs;
      return {
        ids: new Set(products.map(({ product }) => toId(`${product.id}`))),
        unsettledSinceMs,
        endedAtMs: Date.now() - lagMs,
        async *readProducts() {
          yield products.map((product) => ({ ...product, isSettled: isSettled(product) }));
        },
        [Symbol.asyncDispose]: async () => {},
      };
    },
    async countProducts(signal) {
      return (await readAll(signal)).length;
    },
    async *listDeletions(_, signal) {
      await readAll(signal);
      yield [];
    },
    async *readPages(after, signal) {
      const readAtMs = Date.now();
      const products = (await readAll(signal))
        .filter(({ product }) => after === undefined || BigInt(product.id) > after)
        .toSorted((a, b) => (BigInt(a.product.id) < BigInt(b.product.id) ? -1 : 1));
      for (let start = 0; start < products.length; start += pageSize) {
        const page = products.slice(start, start + pageSize);
        yield { shopId, readAtMs, products: page, unread: [], lastId: BigInt(page.at(-1)?.product.id ?? 0) };
      }
    },
    async readProduct(id, { signal }) {
      const [readAtMs, beganMs] = [Date.now(), performance.now()];
      const products = await readAll(signal);
      return {
        shopId,
        readAtMs,
        beganMs,
        isPaged: false,
        found: products.find(({ product }) => BigInt(product.id) === id),
      };
    },
    async findProductId(handle, { signal }) {
      const found = (await readAll(signal)).find(({ product }) => product.handle === handle);
      return found && BigInt(found.product.id);
    },
  };
}
