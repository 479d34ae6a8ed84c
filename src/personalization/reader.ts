import type { Database, Queryable } from "../database/database.ts";
import { type CurrentGeneration, readGenerationList } from "../database/generation.ts";
import { createLinesQuery, type LinesQuery } from "../database/lines-query.ts";
import { listGroupFragments, listStyleFragments } from "../database/personalization.ts";
import { chain, type MaybePromise } from "../maybe-promise.ts";
import { maxSkuLength, type Personalization } from "../model/personalization.ts";
import { FragmentCache } from "./fragment-cache.ts";
import {
  type FoundPersonalization,
  type Group,
  readGroupNumbers,
  readStyleNumbers,
  render,
  renderEmpty,
  type Style,
  toGroup,
  toStyle,
} from "./render.ts";

/** The personalization as objects. */
export const parsePersonalization = ({ body }: FoundPersonalization) =>
  JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString()) as Personalization;

/** The fragments of one generation, which never change. */
interface Fragments {
  readonly generation: CurrentGeneration;
  readonly styles: FragmentCache<Style>;
  readonly groups: FragmentCache<Group>;
}

/** The current generations as of one moment. */
interface Snapshot {
  readonly query: LinesQuery;
  readonly fragments: ReadonlyMap<number, Fragments>;
}

const maxAttempts = 3;
/** For the styles and choice groups of all brands. */
const maxFragmentBytes = 32 * 2 ** 20;

/**
 * Reads the personalization of SKUs: the brand's own, or else that of the first other brand that has
 * the SKU. All rows of a response come from one generation.
 */
export class PersonalizationReader {
  readonly #brand: string;
  #snapshot: Snapshot | undefined;
  #loading: Promise<Snapshot> | undefined;

  constructor(brand: string) {
    this.#brand = brand;
  }

  /** Needs no promise if the store is embedded and the fragments are in memory. */
  find(database: Database, sku: string): MaybePromise<FoundPersonalization> {
    // No stored SKU matches, and the database would reject it, with those of other requests.
    if (sku.length > maxSkuLength || sku.includes("\0") || !sku.isWellFormed()) return renderEmpty(sku);
    const snapshot = this.#snapshot;
    if (snapshot === undefined) return this.#reload(database, sku, undefined);
    return chain(findIn(snapshot, database, sku), (found) => found ?? this.#reload(database, sku, snapshot));
  }

  /** @param outdated generations that were found to be no longer the current ones */
  async #reload(database: Database, sku: string, outdated: Snapshot | undefined): Promise<FoundPersonalization> {
    let last = outdated;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      last = await this.#load(database, last);
      const found = await findIn(last, database, sku);
      if (found !== undefined) return found;
    }
    throw new Error("the current generations change too often, or one has lost a table");
  }

  /** @param outdated is replaced, and its fragments are kept if their generation is still current */
  #load(database: Queryable, outdated: Snapshot | undefined): Promise<Snapshot> {
    // Another request may have replaced it.
    if (this.#snapshot !== undefined && this.#snapshot !== outdated) return Promise.resolve(this.#snapshot);
    this.#loading ??= loadSnapshot(database, this.#brand, outdated?.fragments)
      .then((snapshot) => {
        this.#snapshot = snapshot;
        return snapshot;
      })
      .finally(() => {
        this.#loading = undefined;
      });
    return this.#loading;
  }
}

async function loadSnapshot(
  database: Queryable,
  brand: string,
  earlier: ReadonlyMap<number, Fragments> | undefined,
): Promise<Snapshot> {
  const list = await readGenerationList(database, brand);
  const maxBytes = maxFragmentBytes / 2 / Math.max(list.generations.length, 1);
  const fragments = list.generations.map((generation): Fragments => {
    const known = earlier?.get(generation.id);
    // A store that was restored from a backup may use an id twice.
    const isSame = known !== undefined && known.generation.loadedAt === generation.loadedAt;
    if (isSame) return known;
    return { generation, styles: new FragmentCache(maxBytes), groups: new FragmentCache(maxBytes) };
  });
  return {
    query: createLinesQuery(database.engine, list),
    fragments: new Map(fragments.map((each) => [each.generation.id, each])),
  };
}

/** @returns undefined when other generations are current by now */
function findIn(
  { query, fragments }: Snapshot,
  database: Database,
  sku: string,
): MaybePromise<FoundPersonalization | undefined> {
  // A generation may be removed once another is current.
  const onError = (error: unknown) => {
    if (!database.engine.isTableMissing(error)) throw error;
    return undefined;
  };
  try {
    const result = chain(query.find(database, sku), (found) => {
      if (found === "outdated") return undefined;
      if (found === undefined) return renderEmpty(sku);
      return renderFound(database, sku, found.lines, fragments.get(found.generation.id) as Fragments);
    });
    return result instanceof Promise ? result.catch(onError) : result;
  } catch (error) {
    return onError(error);
  }
}

function renderFound(
  database: Database,
  sku: string,
  lines: Uint8Array,
  { generation, styles, groups }: Fragments,
): MaybePromise<FoundPersonalization> {
  const stylesOfLines = styles.get(readStyleNumbers(lines), async (numbers) =>
    (await listStyleFragments(database, generation.id, numbers)).map(toStyle),
  );
  return chain(stylesOfLines, (foundStyles) => {
    const groupsOfStyles = groups.get(readGroupNumbers(foundStyles), async (numbers) =>
      (await listGroupFragments(database, generation.id, numbers)).map(toGroup),
    );
    return chain(groupsOfStyles, (foundGroups) => render(sku, lines, foundStyles, foundGroups));
  });
}
