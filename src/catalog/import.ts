import type { Config } from "../config/index.ts";
import { exceedsShare, replaceProducts, type StoredProduct, toStoredProduct } from "../database/product.ts";
import { ServiceError } from "../errors.ts";
import type { Reporter, Work } from "../jobs/work.ts";
import { readProducts } from "./product-files.ts";
import { hiddenNotes } from "./visibility.ts";

const batchSize = 100;

export interface CatalogImportOptions {
  readonly visible: Config["visible"];
  /** Share of the stored products, from 0 to 1, that may vanish; beyond it the import fails and changes nothing. */
  readonly maxRemovedShare: number;
}

/** Reads files of products, together the whole set, and replaces the stored one. */
export function catalogImport(files: readonly string[], { visible, maxRemovedShare }: CatalogImportOptions): Work {
  const mayRemove = (removed: number, stored: number) => {
    if (!exceedsShare(removed, stored, maxRemovedShare)) return;
    throw new ServiceError(
      "invalid_input",
      `${removed} of ${stored} products would vanish, more than ${Math.round(maxRemovedShare * 100)} %: nothing was changed; ` +
        "if that is right, import with --force, or raise max_removed_share of [jobs.catalog-import]",
    );
  };
  return async ({ database, isDryRun, reporter, signal }) => {
    const batches = readBatches(files, visible, reporter, signal);
    if (database !== undefined && !isDryRun) await replaceProducts(database, batches, mayRemove);
    else while (!(await batches.next()).done);
    reporter.acceptStaged();
  };
}

async function* readBatches(
  files: readonly string[],
  visible: Config["visible"],
  reporter: Reporter,
  signal: AbortSignal,
): AsyncGenerator<StoredProduct[]> {
  const seen = new Map<string, string>();
  const hidden = new Set<string>();
  const now = new Date().toISOString();
  let batch = new Map<string, StoredProduct>();
  for await (const read of readProducts(files)) {
    signal.throwIfAborted();
    if ("rejected" in read) {
      reporter.reject(...read.rejected);
      continue;
    }
    const { product, file, line } = read;
    const key = `${product.id}`;
    const earlier = seen.get(key);
    if (earlier === undefined) reporter.stage();
    else reporter.acceptDuplicate(`${file}:${line}`, `product ${key}`, earlier);
    seen.set(key, `${file}:${line}`);
    const stored = toStoredProduct(product);
    if (stored.visibleFrom === null || stored.visibleFrom > now) hidden.add(key);
    else hidden.delete(key);
    batch.set(key, stored);
    if (batch.size < batchSize) continue;
    if (!reporter.hasRejected) yield [...batch.values()];
    batch = new Map();
  }
  reporter.finishDuplicates();
  for (const note of hiddenNotes(visible, hidden.size, seen.size)) reporter.note(note);
  const { accepted, duplicates, rejected } = reporter.report;
  if (rejected > 0)
    reporter.failUnlessForced([`${rejected} of ${accepted + duplicates + rejected} were rejected`], false);
  yield [...batch.values()];
}
