import { type IdentifiedProduct, replaceProducts, toStored } from "../database/product.ts";
import { readProducts } from "../feed/product.ts";
import type { Reporter, Work } from "./work.ts";

const batchSize = 100;

/** Reads files of products, together the whole set, and replaces the stored one. */
export function catalogImport(files: readonly string[]): Work {
  return async ({ database, isRehearsal, reporter, signal }) => {
    const batches = readBatches(files, reporter, signal);
    if (database !== undefined && !isRehearsal) await replaceProducts(database, batches);
    else while (!(await batches.next()).done);
    reporter.acceptAll();
  };
}

async function* readBatches(
  files: readonly string[],
  reporter: Reporter,
  signal: AbortSignal,
): AsyncGenerator<IdentifiedProduct[]> {
  const seen = new Map<string, string>();
  let batch = new Map<string, IdentifiedProduct>();
  for await (const read of readProducts(files)) {
    signal.throwIfAborted();
    if ("rejected" in read) {
      reporter.reject(...read.rejected);
      continue;
    }
    const { product, file, line } = read;
    const key = `${product.id}`;
    const earlier = seen.get(key);
    if (earlier === undefined) reporter.read();
    else reporter.acceptDuplicate(`${file}:${line}`, `product ${key}`, earlier);
    seen.set(key, `${file}:${line}`);
    batch.set(key, toStored(product));
    if (batch.size < batchSize) continue;
    if (!reporter.hasRejected) yield [...batch.values()];
    batch = new Map();
  }
  reporter.finishDuplicates();
  const { accepted, duplicates, rejected } = reporter.report;
  if (rejected > 0) reporter.object([`${rejected} of ${accepted + duplicates + rejected} were rejected`], false);
  yield [...batch.values()];
}
