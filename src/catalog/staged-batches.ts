import { join } from "node:path";
import { createTemporaryFolder, TemporaryFile } from "../base/temporary-folder.ts";
import type { StoredProduct } from "./product.ts";

type StagedProduct = Omit<StoredProduct, "id"> & { readonly id: string };

/**
 * Reads every batch before the first one is used: into a temporary file, which is removed on disposal.
 * @throws what the source throws, and ServiceError `unavailable` when the disk is full
 */
export async function stageBatches(batches: AsyncIterable<readonly StoredProduct[]>) {
  const folder = await createTemporaryFolder("import");
  const path = join(folder.path, "products.json");
  /** The end of each batch, in bytes. */
  const ends: number[] = [];
  try {
    using file = new TemporaryFile(path);
    for await (const batch of batches) {
      const bytes = Buffer.from(JSON.stringify(batch.map((product) => ({ ...product, id: `${product.id}` }))));
      file.write(bytes);
      ends.push((ends.at(-1) ?? 0) + bytes.length);
    }
  } catch (error) {
    await folder.remove();
    throw error;
  }
  return {
    async *read(): AsyncGenerator<StoredProduct[]> {
      let start = 0;
      for (const end of ends) {
        const products = (await Bun.file(path).slice(start, end).json()) as StagedProduct[];
        yield products.map((product) => ({ ...product, id: BigInt(product.id) }));
        start = end;
      }
    },
    [Symbol.asyncDispose]: () => folder.remove(),
  };
}
