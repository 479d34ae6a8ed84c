import { chain, type MaybePromise } from "../base/maybe-promise.ts";
import type { Queryable } from "../database/database.ts";
import type { Engine, KeyList } from "../database/engines/engine.ts";
import { tablesOf } from "../database/generation-tables.ts";
import type { CurrentGeneration, GenerationList } from "./generation.ts";

export interface FoundLines {
  readonly generation: CurrentGeneration;
  /** Packed, in display order. */
  readonly lines: Uint8Array;
}

/** Builds its statements once. */
export interface LinesQuery {
  /**
   * @returns the lines in the first generation that has the SKU; undefined for an unknown SKU;
   *   "outdated" when other generations are now current
   */
  find(database: Queryable, sku: string): MaybePromise<FoundLines | "outdated" | undefined>;
  /** By SKU; without unknown ones. */
  findAll(database: Queryable, skus: readonly string[]): Promise<ReadonlyMap<string, FoundLines> | "outdated">;
}

export const createLinesQuery = ({ keyList, server }: Engine, list: GenerationList): LinesQuery =>
  new (server ? BatchedLinesQuery : SingleLinesQuery)(list, keyList);

/** Tables in one statement. */
const tablesPerStatement = 400;

interface Statement {
  readonly text: string;
  readonly generations: readonly CurrentGeneration[];
}

/**
 * Compares the version in the same statement, so that it fits the lines.
 * @param from builds the columns and joins of a statement
 */
function toStatements(
  { version, generations }: GenerationList,
  from: (generations: readonly CurrentGeneration[]) => { readonly columns: string; readonly joins: string },
): Statement[] {
  // A literal costs less than a parameter.
  const condition = `version = '${version.replaceAll("'", "''")}'`;
  const count = Math.max(1, Math.ceil(generations.length / tablesPerStatement));
  return Array.from({ length: count }, (_, index) => {
    const some = generations.slice(index * tablesPerStatement, (index + 1) * tablesPerStatement);
    const { columns, joins } = from(some);
    return { text: `SELECT ${columns} FROM generation_list ${joins} WHERE ${condition}`, generations: some };
  });
}

class ListQuery {
  readonly #statements: readonly Statement[];
  readonly #keyList: KeyList;

  constructor(list: GenerationList, keyList: KeyList) {
    this.#keyList = keyList;
    this.#statements = toStatements(list, (generations) => {
      const tables = generations.map(
        ({ id }, place) =>
          `SELECT ${place} AS place, sku, lines FROM ${tablesOf(id).skus} WHERE ${keyList.contains("sku", "$1")}`,
      );
      if (tables.length === 0) return { columns: "0 AS place, CAST($1 AS TEXT) AS sku, NULL AS lines", joins: "" };
      // Without any lines, there is a row of nulls.
      return { columns: "place, sku, lines", joins: `LEFT JOIN (${tables.join(" UNION ALL ")}) AS found ON TRUE` };
    });
  }

  async findAll(database: Queryable, skus: readonly string[]): Promise<Map<string, FoundLines> | "outdated"> {
    type Row = { readonly place: number; readonly sku: string; readonly lines: Uint8Array | null };
    const found = new Map<string, FoundLines>();
    let missing = skus;
    for (const { text, generations } of this.#statements) {
      const rows = await database.read<Row>(text, [this.#keyList.toValue(missing)]);
      if (rows.length === 0) return "outdated";
      for (const { place, sku, lines } of rows.toSorted((a, b) => a.place - b.place)) {
        if (lines === null || found.has(sku)) continue;
        found.set(sku, { generation: generations[place] as CurrentGeneration, lines });
      }
      missing = missing.filter((sku) => !found.has(sku));
      if (missing.length === 0) break;
    }
    return found;
  }
}

/** One statement per request, for an embedded store. */
class SingleLinesQuery extends ListQuery implements LinesQuery {
  readonly #statements: readonly Statement[];

  constructor(list: GenerationList, keyList: KeyList) {
    super(list, keyList);
    this.#statements = toStatements(list, (generations) => {
      const columns = generations.map(
        ({ id }, place) => `(SELECT lines FROM ${tablesOf(id).skus} WHERE sku = $1) AS lines${place}`,
      );
      return { columns: columns.join(", ") || "$1", joins: "" };
    });
  }

  find(database: Queryable, sku: string): MaybePromise<FoundLines | "outdated" | undefined> {
    return this.#findFrom(0, database, sku);
  }

  #findFrom(index: number, database: Queryable, sku: string): MaybePromise<FoundLines | "outdated" | undefined> {
    const statement = this.#statements[index];
    if (statement === undefined) return undefined;
    const { text, generations } = statement;
    return chain(database.read<Readonly<Record<string, unknown>>>(text, [sku]), ([row]) => {
      if (row === undefined) return "outdated";
      for (let place = 0; place < generations.length; place++) {
        const lines = row[`lines${place}`] as Uint8Array | null;
        if (lines !== null) return { generation: generations[place] as CurrentGeneration, lines };
      }
      return this.#findFrom(index + 1, database, sku);
    });
  }
}

interface Request {
  readonly sku: string;
  readonly resolve: (found: FoundLines | "outdated" | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** One statement for all SKUs requested in one turn of the event loop. */
class BatchedLinesQuery extends ListQuery implements LinesQuery {
  #requests: Request[] = [];

  find(database: Queryable, sku: string): Promise<FoundLines | "outdated" | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#requests.push({ sku, resolve, reject }) === 1) setImmediate(() => this.#send(database));
    });
  }

  async #send(database: Queryable): Promise<void> {
    const requests = this.#requests;
    this.#requests = [];
    try {
      const found = await this.findAll(
        database,
        requests.map(({ sku }) => sku),
      );
      for (const { sku, resolve } of requests) resolve(found === "outdated" ? found : found.get(sku));
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  }
}
