import type { StyleUsers } from "../database/generation-loading.ts";
import { Hash } from "../model/fingerprint.ts";
import {
  type Difference,
  excerpt,
  type FileReport,
  type Occurrences,
  type PersonalizationReport,
  reportedExamples,
} from "../model/import-report.ts";
import { isNumericSequence, type ListName, listNames, lists } from "../model/personalization.ts";
import { findDiffering, forEachEntry, HashTable } from "./fingerprints.ts";
import type { FeedRow } from "./rows.ts";

/**
 * How many key columns identify an entity, the unit of comparison: a SKU, a style, or a single
 * choice.
 */
const entityColumns: Readonly<Record<ListName, number>> = { pzlines: 1, pzstyles: 1, pzchoices: 2 };

/** Status codes counted separately. A file with misplaced columns can have many more. */
const maxStatuses = 50;
const otherStatuses = "(others)";

/** Value indexes in the hash tables. Entities have only a fingerprint. */
const fingerprint = 0;
const line = 1;

const entriesPerPart = 65_536;

/**
 * Collects the keys, fingerprints, status codes, and sequences of one list. Takes 24 to 48 bytes
 * per row.
 */
export class ListStatistics {
  readonly nonNumericSequences: Occurrences = { count: 0, examples: [] };
  readonly statuses = new Map<string, number>();
  readonly #entityColumns: number;
  /** Indexes of the columns; the key's columns come first. */
  readonly #order: readonly number[];
  readonly #status: number;
  readonly #sequence: number;
  readonly #hash = new Hash();
  readonly #rows = new HashTable(2);
  readonly #entities = new HashTable(1);

  constructor(list: ListName) {
    const { columns, key } = lists[list];
    const keyIndexes = key.map((column) => columns.indexOf(column));
    this.#entityColumns = entityColumns[list];
    this.#order = [...keyIndexes, ...columns.keys().filter((index) => !keyIndexes.includes(index))];
    this.#status = columns.indexOf(statusColumn(list));
    this.#sequence = columns.findIndex((column) => column.endsWith("_seq"));
  }

  /** Number of SKUs, styles, or choices. */
  get size(): number {
    return this.#entities.size;
  }

  /**
   * Counts a row's status, records a sequence that is not a number, and adds the row to the
   * fingerprint of its SKU, style, or choice. A row whose key occurred earlier replaces the earlier
   * row in the fingerprint.
   *
   * @param file the file's name, for the examples of sequences
   * @returns the line of the earlier row with the same key; -1 if there is none
   */
  add({ line: rowLine, values }: FeedRow, file: string): number {
    const status = values[this.#status] ?? "";
    const statusCount = this.statuses.get(status);
    if (statusCount === undefined) this.#countNewStatus(status);
    else this.statuses.set(status, statusCount + 1);
    const sequence = values[this.#sequence] ?? "";
    if (!isNumericSequence(sequence)) {
      countOccurrence(this.nonNumericSequences, () => `${file}:${rowLine}: ${excerpt(sequence)}`);
    }

    const hash = this.#hash.reset();
    let entity = -1;
    let row = -1;
    for (let index = 0; index < this.#order.length; index++) {
      hash.add(values[this.#order[index] as number] as string);
      if (index < 2) hash.take();
      if (index + 1 === this.#entityColumns) entity = this.#entities.add(hash.high, hash.low);
      if (index === 1) row = this.#rows.add(hash.high, hash.low);
    }
    const { low } = hash.take();
    const entityOffset = entity < 0 ? ~entity : entity;
    const rowOffset = row < 0 ? ~row : row;
    const earlierFingerprint = row < 0 ? 0 : this.#rows.get(rowOffset, fingerprint);
    const earlierLine = row < 0 ? -1 : this.#rows.get(rowOffset, line);
    // A sum does not depend on the order of rows, and a replaced row can be subtracted.
    const sum = this.#entities.get(entityOffset, fingerprint) + low - earlierFingerprint;
    this.#entities.set(entityOffset, fingerprint, sum);
    this.#rows.set(rowOffset, fingerprint, low);
    this.#rows.set(rowOffset, line, rowLine);
    return earlierLine;
  }

  #countNewStatus(status: string): void {
    const name = this.statuses.size < maxStatuses ? status : otherStatuses;
    this.statuses.set(name, (this.statuses.get(name) ?? 0) + 1);
  }

  /** Formats a row's key for a message. */
  keyOf({ values }: FeedRow): string {
    return excerpt(
      this.#order
        .slice(0, 2)
        .map((index) => values[index])
        .join(", "),
    );
  }

  /** The fingerprints of all SKUs, styles, or choices, in parts of less than a megabyte. */
  digest(): Generator<Uint8Array> {
    return this.#entities.export(entriesPerPart);
  }

  /** @param digest the digest of another generation's same list, in parts */
  async differenceFrom(digest: AsyncIterable<Uint8Array>): Promise<Difference> {
    let same = 0;
    let changed = 0;
    let removed = 0;
    for await (const part of digest) {
      forEachEntry(part, (high, low, value) => {
        const offset = this.#entities.find(high, low);
        if (offset < 0) removed++;
        else if (this.#entities.get(offset, fingerprint) === value) same++;
        else changed++;
      });
    }
    return { total: this.size, added: this.size - same - changed, changed, removed };
  }

  /**
   * The fingerprints of added, changed, and removed entities.
   * @returns undefined if there are more than `max`
   */
  findDiffering(digest: AsyncIterable<Uint8Array>, max: number): Promise<number[] | undefined> {
    return findDiffering(this.#entities, digest, max);
  }
}

/** Increments the count, and keeps the first occurrences as examples. */
function countOccurrence(occurrences: Occurrences, describe: () => string): void {
  occurrences.count++;
  if (occurrences.examples.length < reportedExamples) occurrences.examples.push(describe());
}

/** How a style or a choice group is used. */
interface Usage {
  /** File and line of its first row. */
  readonly where: string;
  isUsed: boolean;
  /** The SKUs that offer a style. */
  readonly skus: Occurrences;
}

/** SKUs kept as examples of those that offer a style. */
const maxExampleSkus = 20;

/** Collects the statistics of a whole feed. Lists must come in the order choices, styles, lines. */
export class FeedStatistics {
  readonly lists: Readonly<Record<ListName, ListStatistics>> = {
    pzlines: new ListStatistics("pzlines"),
    pzstyles: new ListStatistics("pzstyles"),
    pzchoices: new ListStatistics("pzchoices"),
  };
  readonly #styles = new Map<string, Usage>();
  readonly #groups = new Map<string, Usage>();
  readonly #linesWithoutStyle: Occurrences = { count: 0, examples: [] };

  /** Adds a row. @returns the line of an earlier row with the same key; -1 if there is none */
  add(list: ListName, row: FeedRow, file: string): number {
    const { line, values } = row;
    const earlierLine = this.lists[list].add(row, file);
    if (list === "pzchoices") addName(this.#groups, values[0], file, line);
    else if (list === "pzstyles") {
      addName(this.#styles, values[0], file, line);
      const group = this.#groups.get(values[choiceTypeOfStyle] ?? "");
      if (group !== undefined) group.isUsed = true;
    } else {
      const style = this.#styles.get(values[styleOfLine] ?? "");
      if (style !== undefined) {
        style.isUsed = true;
        if (earlierLine < 0) countSku(style.skus, values[skuOfLine] ?? "");
      } else countOccurrence(this.#linesWithoutStyle, () => `${file}:${line}: ${excerpt(values[styleOfLine] ?? "")}`);
    }
    return earlierLine;
  }

  /** The SKUs that offer each style. */
  *styleUsers(): Generator<StyleUsers> {
    for (const [style, { skus }] of this.#styles) yield { style, ...skus };
  }

  /**
   * @param digestOf returns the current generation's digest; undefined if there is nothing to
   * compare with
   */
  async report(
    files: readonly FileReport[],
    digestOf: (list: ListName) => AsyncIterable<Uint8Array> | undefined,
  ): Promise<PersonalizationReport> {
    const differenceOf = async (list: ListName) => {
      const digest = digestOf(list);
      return digest === undefined ? null : await this.lists[list].differenceFrom(digest);
    };
    const sequences = listNames.map((list) => this.lists[list].nonNumericSequences);
    return {
      files,
      skus: await differenceOf("pzlines"),
      styles: await differenceOf("pzstyles"),
      choices: await differenceOf("pzchoices"),
      orphans: {
        linesWithoutStyle: this.#linesWithoutStyle,
        stylesWithoutLine: unused(this.#styles),
        unusedChoiceGroups: unused(this.#groups),
      },
      nonNumericSequences: {
        count: sequences.reduce((sum, { count }) => sum + count, 0),
        examples: sequences.flatMap(({ examples }) => examples).slice(0, reportedExamples),
      },
      statuses: Object.fromEntries(
        listNames.map((list) => [statusColumn(list), Object.fromEntries(this.lists[list].statuses)]),
      ),
    };
  }
}

const skuOfLine = lists.pzlines.columns.indexOf("sku_id");
const styleOfLine = lists.pzlines.columns.indexOf("style_code");
const choiceTypeOfStyle = lists.pzstyles.columns.indexOf("choice_type");

function statusColumn(list: ListName): string {
  return lists[list].columns.find((column) => column.endsWith("_status")) ?? "";
}

function addName(usages: Map<string, Usage>, name = "", file: string, line: number): void {
  if (usages.has(name)) return;
  usages.set(name, { where: `${file}:${line}`, isUsed: false, skus: { count: 0, examples: [] } });
}

function countSku(skus: Occurrences, sku: string): void {
  skus.count++;
  // Copies the SKU: a slice would keep the whole chunk of the file in memory.
  if (skus.examples.length < maxExampleSkus) skus.examples.push(Buffer.from(sku).toString());
}

function unused(usages: Map<string, Usage>): Occurrences {
  const occurrences: Occurrences = { count: 0, examples: [] };
  for (const [name, { where, isUsed }] of usages) {
    if (!isUsed) countOccurrence(occurrences, () => `${where}: ${excerpt(name)}`);
  }
  return occurrences;
}
