import { isLonger } from "../base/format.ts";
import { attempt, chain, type MaybePromise } from "../base/maybe-promise.ts";
import type { Personalization } from "../contract/personalization.ts";
import type { Database, Queryable } from "../database/database.ts";
import { decodeText } from "./bytes.ts";
import { FormRenderer, type FoundForm } from "./form.ts";
import { GenerationFragments } from "./fragment-cache.ts";
import { type CurrentGeneration, readGenerationList } from "./generation.ts";
import { createLinesQuery, type FoundLines, type LinesQuery } from "./lines-query.ts";
import { maxSkuLength } from "./lists.ts";
import {
  type FoundPersonalization,
  largeBatch,
  maxBatchBytes,
  readStyleNumbers,
  render,
  renderBatch,
  renderEmpty,
  rowBytesOf,
  type SkuParts,
} from "./render.ts";

export const parsePersonalization = ({ body }: FoundPersonalization) => JSON.parse(decodeText(body)) as Personalization;

interface Fragments {
  readonly generation: CurrentGeneration;
  readonly rows: GenerationFragments;
  readonly forms: FormRenderer;
}

/** The current generations at one moment. */
interface Snapshot {
  readonly query: LinesQuery;
  readonly fragments: ReadonlyMap<number, Fragments>;
  /** Renders the forms of unknown SKUs, in the locales of the reader's brand. */
  readonly unknown: FormRenderer;
}

const maxAttempts = 3;
const maxFragmentBytes = 32 * 2 ** 20;
const maxFormBytes = 32 * 2 ** 20;

/**
 * Reads a SKU from the brand, or else from the first other brand that has it, because its URL names
 * no brand. All rows of a response come from one generation.
 */
export class PersonalizationReader {
  readonly #brand: string;
  readonly #defaultLocale: string;
  #snapshot: Snapshot | undefined;
  #loading: Promise<Snapshot> | undefined;

  constructor(brand: string, defaultLocale = "en") {
    this.#brand = brand;
    this.#defaultLocale = defaultLocale;
  }

  /** Returns no promise if the store is embedded, and the fragments are in memory. */
  find(database: Database, sku: string): MaybePromise<FoundPersonalization> {
    return this.#findIn(database, (snapshot) => findOne(snapshot, database, sku));
  }

  /** One response in the order of the SKUs, all from the same moment. */
  findAll(database: Database, skus: readonly string[]): MaybePromise<FoundPersonalization> {
    return this.#findIn(database, (snapshot) => findAll(snapshot, database, skus));
  }

  findForm(database: Database, sku: string, locale: string): MaybePromise<FoundForm> {
    return this.#findIn(database, (snapshot) => findForm(snapshot, database, sku, locale));
  }

  /** Clears the memory, which may hold data from another store. */
  forget(): void {
    this.#snapshot = undefined;
    this.#loading = undefined;
  }

  /** @param read returns `outdated` when other generations are now current */
  #findIn<Found>(database: Database, read: Read<Found>): MaybePromise<Found> {
    const snapshot = this.#snapshot;
    if (snapshot === undefined) return this.#reload(database, read, undefined);
    return chain(readIn(snapshot, database, read), (found) =>
      found === "outdated" ? this.#reload(database, read, snapshot) : found,
    );
  }

  /** @param outdated generations that are no longer current */
  async #reload<Found>(database: Database, read: Read<Found>, outdated: Snapshot | undefined): Promise<Found> {
    let last = outdated;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      last = await this.#load(database, last);
      const found = await readIn(last, database, read);
      if (found !== "outdated") return found;
    }
    throw new Error("the current generations change too often, or one has lost a table");
  }

  /** @param outdated is replaced, but keeps the fragments of generations that are still current */
  #load(database: Queryable, outdated: Snapshot | undefined): Promise<Snapshot> {
    // Another request may have replaced it.
    if (this.#snapshot !== undefined && this.#snapshot !== outdated) return Promise.resolve(this.#snapshot);
    if (this.#loading !== undefined) return this.#loading;
    // Not the fragments of `outdated`, which may have been cleared.
    const loading = loadSnapshot(database, this.#brand, this.#defaultLocale, this.#snapshot?.fragments)
      .then((snapshot) => {
        if (this.#loading === loading) this.#snapshot = snapshot;
        return snapshot;
      })
      .finally(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
    this.#loading = loading;
    return loading;
  }
}

async function loadSnapshot(
  database: Queryable,
  brand: string,
  defaultLocale: string,
  earlier: ReadonlyMap<number, Fragments> | undefined,
): Promise<Snapshot> {
  const list = await readGenerationList(database, brand);
  const share = 1 / Math.max(list.generations.length, 1);
  const fragments = list.generations.map((generation): Fragments => {
    const known = earlier?.get(generation.id);
    // A store restored from a backup may reuse an id.
    const isSame = known !== undefined && known.generation.loadedAt === generation.loadedAt;
    const rows = isSame ? known.rows : new GenerationFragments(generation.id, maxFragmentBytes * share);
    const areFormsSame = isSame && Bun.deepEquals(known.forms.current, generation.presentation);
    const forms = areFormsSame
      ? known.forms
      : new FormRenderer(generation.brand, generation.presentation, defaultLocale, maxFormBytes * share);
    return { generation, rows, forms };
  });
  const [first] = fragments;
  return {
    query: createLinesQuery(database.engine, list),
    fragments: new Map(fragments.map((each) => [each.generation.id, each])),
    unknown: first?.generation.brand === brand ? first.forms : new FormRenderer(brand, undefined, defaultLocale, 0),
  };
}

type Read<Found> = (snapshot: Snapshot) => MaybePromise<Found | "outdated">;

/** @returns `outdated` when other generations are now current */
function readIn<Found>(snapshot: Snapshot, database: Database, read: Read<Found>): MaybePromise<Found | "outdated"> {
  // A generation may be removed once another is current.
  const onError = (error: unknown) => {
    if (database.engine.classify(error) !== "missing") throw error;
    return "outdated" as const;
  };
  const result = attempt(() => read(snapshot));
  return result instanceof Promise ? result.catch(onError) : result;
}

/** The database would reject an invalid SKU together with other requests' SKUs. */
const isStorable = (sku: string) => !isLonger(sku, maxSkuLength) && !sku.includes("\0") && sku.isWellFormed();

const findLinesIfStorable = (
  { query }: Snapshot,
  database: Database,
  sku: string,
): MaybePromise<FoundLines | "outdated" | undefined> => (isStorable(sku) ? query.find(database, sku) : undefined);

const findOne = (snapshot: Snapshot, database: Database, sku: string) =>
  chain(findLinesIfStorable(snapshot, database, sku), (found) => {
    if (found === "outdated") return found;
    return found === undefined ? renderEmpty(sku) : chain(findParts(snapshot, database, sku, found), render);
  });

async function findAll(
  snapshot: Snapshot,
  database: Database,
  skus: readonly string[],
): Promise<FoundPersonalization | "outdated"> {
  const found = await snapshot.query.findAll(database, skus.filter(isStorable));
  if (found === "outdated") return found;
  if (database.engine.server !== undefined) await loadFragments(snapshot, database, found.values());
  const parts: (SkuParts | undefined)[] = [];
  let bytes = 0;
  for (const sku of skus) {
    const lines = found.get(sku);
    const finding = lines && findParts(snapshot, database, sku, lines);
    // Each wait would cost as much as rendering.
    const ofSku = finding instanceof Promise ? await finding : finding;
    if (ofSku !== undefined) bytes += rowBytesOf(ofSku);
    // Before the others are loaded.
    if (bytes > maxBatchBytes) throw largeBatch();
    parts.push(ofSku);
  }
  return renderBatch(skus, parts);
}

const fragmentsOf = ({ fragments }: Snapshot, { generation }: FoundLines) => fragments.get(generation.id) as Fragments;

const findParts = (snapshot: Snapshot, database: Database, sku: string, found: FoundLines) =>
  fragmentsOf(snapshot, found).rows.findParts(database, sku, found.lines);

/** Loads all SKUs' fragments together, so that rendering each needs no statement. */
async function loadFragments({ fragments }: Snapshot, database: Database, found: Iterable<FoundLines>): Promise<void> {
  const numbersOf = new Map<number, Set<number>>();
  for (const each of found) {
    const numbers = numbersOf.get(each.generation.id) ?? new Set();
    numbersOf.set(each.generation.id, numbers);
    for (const number of readStyleNumbers(each.lines)) numbers.add(number);
  }
  for (const [generation, numbers] of numbersOf) {
    await fragments.get(generation)?.rows.find(database, [...numbers]);
  }
}

const findForm = (snapshot: Snapshot, database: Database, sku: string, locale: string) =>
  chain(findLinesIfStorable(snapshot, database, sku), (found): MaybePromise<FoundForm | "outdated"> => {
    if (found === "outdated") return found;
    if (found === undefined) return snapshot.unknown.find(database, sku, locale, undefined);
    const { forms } = fragmentsOf(snapshot, found);
    return forms.find(database, sku, locale, () => findParts(snapshot, database, sku, found));
  });
