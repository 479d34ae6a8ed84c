import { type IdentifiedProduct, replaceProducts } from "../database/product.ts";
import { readProducts } from "../feed/product.ts";
import { toJson } from "../json.ts";
import type { Product } from "../product.ts";
import type { Import, ImportReporter } from "./import.ts";

const batchSize = 100;

/** Reads files of products, together the whole set, and replaces the stored one. */
export function catalogImport(files: readonly string[]): Import {
  return async ({ database, reporter }) => {
    const batches = readBatches(files, reporter);
    if (database !== undefined) await replaceProducts(database, batches);
    else while (!(await batches.next()).done);
  };
}

async function* readBatches(files: readonly string[], reporter: ImportReporter): AsyncGenerator<IdentifiedProduct[]> {
  const seen = new Map<string, string>();
  let batch = new Map<string, IdentifiedProduct>();
  for await (const read of readProducts(files)) {
    if ("rejected" in read) {
      reporter.reject(...read.rejected);
      continue;
    }
    const { product, file, line } = read;
    const key = `${product.id}`;
    const earlier = seen.get(key);
    if (earlier === undefined) reporter.accept();
    else reporter.acceptDuplicate(`${file}:${line}`, `product ${key}`, earlier);
    seen.set(key, `${file}:${line}`);
    batch.set(key, toStored(product));
    if (batch.size < batchSize) continue;
    if (!reporter.refused) yield [...batch.values()];
    batch = new Map();
  }
  reporter.finish();
  yield [...batch.values()];
}

function toStored(product: Product): IdentifiedProduct {
  const document = toJson(product);
  return { id: BigInt(product.id), document, tag: Bun.CryptoHasher.hash("sha256", document, "base64url").slice(0, 22) };
}
