import { ServiceError } from "../base/errors.ts";
import { formatNames, wasOrWere } from "../base/format.ts";
import type { Database } from "../database/database.ts";
import { requireUnderWay } from "../jobs/claim.ts";
import { countRejected, excerpt } from "../jobs/import-report.ts";
import type { Reporter, Work } from "../jobs/work.ts";
import { findImportExcess } from "./guards.ts";
import { forgetKnownIds } from "./known-ids.ts";
import { countStoredProducts, listProductIds, type StoredProduct, toRows, toStoredProduct } from "./product.ts";
import { readProducts } from "./product-files.ts";
import { deleteProducts } from "./product-removal.ts";
import { stageBatches } from "./staged-batches.ts";
import { hiddenNotes, type Visibility } from "./visibility.ts";

const batchSize = 100;

export interface CatalogImportOptions {
  readonly visible: Visibility;
  /** Maximum size of each file when decompressed; 0 for no limit. */
  readonly maxFileMegabytes: number;
  /** From 0 to 1; the import fails if it would remove a larger share of the stored products. */
  readonly maxRemovedShare: number;
  readonly isForced: boolean;
}

/** Replaces the stored products with those of the files, which together are the whole catalog. */
export function catalogImport(files: readonly string[], options: CatalogImportOptions): Work {
  const { maxRemovedShare, isForced } = options;
  return async ({ database, run, reporter, signal }) => {
    // A set, because the store may repeat the transaction.
    const excesses = new Set<string>();
    const mayRemove = (removed: number, stored: number) => {
      const excess = findImportExcess(removed, stored, maxRemovedShare);
      if (excess === undefined) return;
      if (!isForced) {
        const remedy = "if this is correct, import with --force, or raise max_removed_share of [jobs.catalog-import]";
        throw new ServiceError("invalid_input", `${excess}: nothing was changed; ${remedy}`);
      }
      excesses.add(excess);
    };
    const batches = readBatches(files, options, reporter, signal);
    if (database === undefined || run === undefined) await checkOnly(batches, database, mayRemove);
    else {
      // A transaction keeps other jobs from writing to some stores, so it must not wait for a file.
      await using staged = await stageBatches(batches);
      await replaceProducts(database, run, staged.read(), mayRemove);
      await forgetKnownIds(database);
    }
    reporter.failUnlessForced([...excesses], isForced);
    reporter.acceptStaged();
  };
}

/** @param database undefined when there is no store yet */
async function checkOnly(
  batches: AsyncIterable<readonly StoredProduct[]>,
  database: Database | undefined,
  mayRemove: (removed: number, stored: number) => void,
): Promise<void> {
  const kept = new Set<string>();
  for await (const batch of batches) for (const { id } of batch) kept.add(`${id}`);
  if (database === undefined) return;
  const stored = await listProductIds(database);
  mayRemove(stored.filter((id) => !kept.has(id)).length, stored.length);
}

/**
 * Replaces the whole set of products: writes those that differ, and removes those that no batch
 * holds. If the source of batches throws, nothing changes.
 * @param batches no id twice within a batch; the last batch wins
 * @param mayRemove called before a removal with its size and the number stored; throws to refuse
 * @throws ServiceError `unavailable` when the run's lease expired
 */
function replaceProducts(
  database: Database,
  run: number,
  batches: AsyncIterable<readonly StoredProduct[]>,
  mayRemove: (removed: number, stored: number) => void,
): Promise<void> {
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    const now = sql.unsafe(engine.now);
    const storedBefore = await countStoredProducts(transaction);
    const kept = new Set<string>();
    for await (const batch of batches) {
      for (const { id } of batch) kept.add(`${id}`);
      if (batch.length === 0) continue;
      const rows = toRows(batch).map((row) => ({ ...row, way: "import", read_from: now, read_until: now }));
      await sql`
        INSERT INTO product ${sql(rows)}
        ON CONFLICT (id) DO UPDATE SET document = excluded.document, tag = excluded.tag, updated_at = excluded.updated_at,
          words = excluded.words, visible_from = excluded.visible_from, checked_at = NULL, way = excluded.way,
          read_from = excluded.read_from, read_until = excluded.read_until, asked_at = ''
        WHERE product.tag <> excluded.tag`;
    }
    const missing = (await listProductIds(transaction)).filter((id) => !kept.has(id)).map(BigInt);
    mayRemove(missing.length, storedBefore);
    await deleteProducts(transaction, missing);
    // Checked last, because another run may have replaced the products since this transaction
    // began.
    await requireUnderWay(transaction, run);
  });
}

async function* readBatches(
  files: readonly string[],
  { visible, maxFileMegabytes }: CatalogImportOptions,
  reporter: Reporter,
  signal: AbortSignal,
): AsyncGenerator<StoredProduct[]> {
  const seen = new Map<string, string>();
  const handles = new Map<string, string>();
  const hidden = new Set<string>();
  /** Names beside the products in wrappers. */
  const ignored = new Set<string>();
  const now = new Date().toISOString();
  let batch = new Map<string, StoredProduct>();
  for await (const document of readProducts(files, maxFileMegabytes)) {
    signal.throwIfAborted();
    if ("rejected" in document) {
      reporter.reject(...document.rejected);
      continue;
    }
    if ("ignored" in document) {
      for (const name of document.ignored) ignored.add(name);
      continue;
    }
    const { product, file, line } = document;
    const key = `${product.id}`;
    const earlier = seen.get(key);
    reporter.stage();
    if (earlier !== undefined) {
      reporter.acceptDuplicates(1, [
        `${file}:${line}: duplicate product ${key}, first at ${earlier}; the last one wins`,
      ]);
    }
    seen.set(key, `${file}:${line}`);
    const other = handles.get(product.handle) ?? key;
    if (other !== key) {
      const note = `the handle ${excerpt(product.handle)} is that of product ${other} too; the highest ID has it`;
      reporter.noteEach("products whose handle is taken", `warning: ${file}:${line}: ${note}`);
    }
    handles.set(product.handle, key);
    const stored = toStoredProduct(product);
    if (stored.visibleFrom === null || stored.visibleFrom > now) hidden.add(key);
    else hidden.delete(key);
    batch.set(key, stored);
    if (batch.size < batchSize) continue;
    if (!reporter.hasRejected) yield [...batch.values()];
    batch = new Map();
  }
  reporter.finishDuplicates();
  if (ignored.size > 0) reporter.note(`ignored fields beside the products: ${formatNames([...ignored])}`);
  for (const note of hiddenNotes(visible, hidden.size, seen.size)) reporter.note(note);
  const { rejected } = reporter.report;
  if (rejected > 0) {
    throw new ServiceError(
      "invalid_input",
      `${countRejected(reporter.report)} ${wasOrWere(rejected)} rejected, so nothing was changed`,
    );
  }
  yield [...batch.values()];
}
