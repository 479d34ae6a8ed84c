import type { ServiceError } from "../../base/errors.ts";
import type { Database } from "../../database/database.ts";
import {
  type Difference,
  excerpt,
  type Occurrences,
  type PersonalizationReport,
  reportedExamples,
  reportedNotes,
} from "../../jobs/import-report.ts";
import { decodeText, readUint32 } from "../bytes.ts";
import { ChangedFingerprints } from "../changes.ts";
import { createLineComparison, type DifferenceVisitor, OrderedComparison } from "../difference.ts";
import { type Walked, walkFragments, walkSkus, walkStyleCodes } from "../generation-walk.ts";
import { type ListName, lists } from "../lists.ts";
import { NameTable, tooManyNames } from "../name-table.ts";
import { maxStylesOfGroup } from "../store.ts";
import { BatchLoader } from "./batch-loader.ts";
import { ChoiceCounter } from "./choice-counter.ts";
import { type OnDuplicate, readSkus, readTextGroups, toJsonRows } from "./feed-groups.ts";
import type { FeedRows } from "./feed-rows.ts";
import { GarbageCollector } from "./garbage.ts";
import { type GenerationSize, loadGroups, loadSkus, loadStyles, type SkuRow } from "./generation-loading.ts";
import type { FeedRow } from "./rows.ts";
import { countOccurrence, FirstInFile } from "./statistics.ts";
import { UsageCounter } from "./usage.ts";

/** SKUs, styles, or groups per transaction. More would block other writers longer. */
const skusPerBatch = 20_000;
const fragmentsPerBatch = 2_500;

/** A row's memory in addition to its content. */
const rowBytes = 64;

/** Example SKUs that are stored with a style. */
const maxExampleSkus = 20;

export interface BuildContext {
  /** Undefined if there is no store yet. */
  readonly database: Database | undefined;
  /** The generation to compare with; undefined if there is none. */
  readonly current: number | undefined;
  /** The generation to load; undefined for a dry run. */
  readonly generation: number | undefined;
  readonly signal: AbortSignal;
  /** Called for each batch, with the number of rows merged so far. */
  readonly onProgress: (merged: number, isDone: boolean) => void;
}

export interface Built {
  /** Compared with the current generation; null if there is none. */
  readonly differences: Pick<PersonalizationReport, "skus" | "styles" | "choices">;
  readonly size: GenerationSize;
  /** Descriptions of rows that a later row with the same key replaced. */
  readonly duplicates: Readonly<Record<ListName, FirstInFile<string>>>;
  readonly orphans: Omit<PersonalizationReport["orphans"], "linesWithoutStyle">;
  readonly usesChoices: boolean;
  /** All that differs from the current generation; undefined if unknown or too many. */
  readonly fingerprints: readonly number[] | undefined;
}

/**
 * Choice types without choices, for which shoppers type text. Feeds have few of them, and a
 * misspelled one must be among those shown.
 */
const reportedTypes = 30;

const choiceTypeOfStyle = lists.pzstyles.columns.indexOf("choice_type");

/** Merges, orders, compares, and loads a feed's rows. */
export class GenerationBuilder implements AsyncDisposable {
  readonly #rows: FeedRows;
  readonly #context: BuildContext;
  readonly #changes = new ChangedFingerprints();
  readonly #skusOf = new UsageCounter(maxExampleSkus);
  /** The first styles of each group, by number as text. */
  readonly #stylesOf = new UsageCounter(maxStylesOfGroup);
  readonly #groupNames = new NameTable();
  readonly #duplicates = {
    pzlines: new FirstInFile<string>(reportedNotes),
    pzstyles: new FirstInFile<string>(reportedNotes),
    pzchoices: new FirstInFile<string>(reportedNotes),
  };
  readonly #garbage = new GarbageCollector();
  #usesChoices = false;
  #merged = 0;

  constructor(rows: FeedRows, context: BuildContext) {
    this.#rows = rows;
    this.#context = context;
  }

  async build(): Promise<Built> {
    const { current } = this.#context;
    const skus = await this.#buildSkus();
    await this.#rows.release("pzlines");
    // The names of styles with rows come with the rows.
    this.#rows.styleNames.drop(this.#rows.definedStyles);
    for (const { key, content } of this.#rows.groups("pzchoices")) {
      this.#groupNames.addBytes(key);
      if (this.#groupNames.isFull) throw this.#tooManyGroups("pzchoices", readUint32(content, 0));
    }
    const definedGroups = this.#groupNames.size;
    const styles = await this.#buildStyles();
    const choices = await this.#buildGroups(definedGroups);
    this.#context.onProgress(this.#merged, true);
    return {
      differences: { skus: skus.difference, styles: styles.difference, choices: choices.difference },
      size: {
        rows: skus.rows + styles.rows + choices.rows,
        skus: skus.total,
        styles: styles.total,
        choices: choices.rows,
      },
      duplicates: this.#duplicates,
      orphans: {
        stylesWithoutLine: styles.unused,
        unusedChoiceGroups: choices.unused,
        typesWithoutChoices: choices.missing,
      },
      usesChoices: this.#usesChoices,
      fingerprints: current === undefined ? undefined : this.#changes.found,
    };
  }

  async #buildSkus() {
    const { database, current } = this.#context;
    const comparison =
      database && current !== undefined
        ? new OrderedComparison(
            walkSkus(database, current),
            this.#changes,
            await createLineComparison(
              this.#garbage.countPages(walkStyleCodes(database, current), ({ code }) => rowBytes + code.length),
              this.#rows.styleNames,
            ),
          )
        : undefined;
    await using loader = this.#loader<SkuRow>(skusPerBatch, loadSkus);
    let [total, count] = [0, 0];
    for (const { read, key, lines, styles } of readSkus(this.#rows, this.#onDuplicate("pzlines"))) {
      total++;
      this.#merged += read;
      count += styles.length;
      const sku = decodeText(key);
      for (const style of styles) this.#skusOf.add(style, sku);
      if (comparison !== undefined) while (!comparison.tryAdd(key, lines)) await comparison.loadPage();
      if (this.#add(loader, { sku, lines }, lines.length)) await loader.send();
    }
    await loader.finish();
    return { total, rows: count, difference: await toDifference(total, comparison) };
  }

  async #buildStyles() {
    const comparison = this.#compareFragments("styles", this.#changes);
    const unused = new FirstInFile<string>(reportedExamples);
    await using loader = this.#loader(fragmentsPerBatch, loadStyles);
    let [number, count] = [0, 0];
    for (const { read, name, key, rows } of readTextGroups(this.#rows, "pzstyles", this.#onDuplicate("pzstyles"))) {
      number++;
      this.#merged += read;
      count += rows.length;
      const json = toJsonRows("pzstyles", rows);
      if (comparison !== undefined) while (!comparison.tryAdd(key, json)) await comparison.loadPage();
      const groups = new Set(rows.map(({ values }) => this.#groupNames.add(values[choiceTypeOfStyle] as string)));
      this.#usesChoices ||= rows.some(({ values }) => values[choiceTypeOfStyle] !== "");
      if (this.#groupNames.isFull) throw this.#tooManyGroups("pzstyles", (rows[0] as FeedRow).line);
      for (const group of groups) this.#stylesOf.add(group, `${number}`);
      const skus = this.#skusOf.countOf(number);
      if (skus === 0) this.#addUnused(unused, "pzstyles", name, rows);
      const examples = this.#skusOf.takeExamplesOf(number);
      const style = { number, code: name, rows: json, groups: [...groups], skus, examples };
      if (this.#add(loader, style, json.length)) await loader.send();
    }
    const { styleNames } = this.#rows;
    while (number < styleNames.size) {
      number++;
      const usage = { skus: this.#skusOf.countOf(number), examples: this.#skusOf.takeExamplesOf(number) };
      const style = { number, code: styleNames.nameOf(number), rows: new Uint8Array(), groups: [], ...usage };
      if (this.#add(loader, style, 0)) await loader.send();
    }
    await loader.finish();
    const total = this.#rows.definedStyles;
    return { total, rows: count, unused: toOccurrences(unused), difference: await toDifference(total, comparison) };
  }

  /** @param defined number of groups that have choices */
  async #buildGroups(defined: number) {
    const choices = new ChoiceCounter(this.#changes);
    const comparison = this.#compareFragments("groups", choices);
    const unused = new FirstInFile<string>(reportedExamples);
    await using loader = this.#loader(fragmentsPerBatch, loadGroups);
    let [number, count] = [0, 0];
    for (const { read, name, key, rows } of readTextGroups(this.#rows, "pzchoices", this.#onDuplicate("pzchoices"))) {
      number++;
      this.#merged += read;
      count += rows.length;
      const json = toJsonRows("pzchoices", rows);
      if (comparison !== undefined) while (!comparison.tryAdd(key, json)) await comparison.loadPage();
      const styles = this.#stylesOf.takeExamplesOf(number).map(Number);
      if (styles.length === 0) this.#addUnused(unused, "pzchoices", name, rows);
      if (this.#add(loader, { number, name, rows: json, styles }, json.length)) await loader.send();
    }
    const missing: Occurrences = { count: 0, examples: [] };
    for (number = defined + 1; number <= this.#groupNames.size; number++) {
      const styles = this.#stylesOf.takeExamplesOf(number).map(Number);
      const name = this.#groupNames.nameOf(number);
      if (name !== "") countOccurrence(missing, () => excerpt(name), reportedTypes);
      const group = { number, name, rows: new Uint8Array(), styles };
      if (this.#add(loader, group, 0)) await loader.send();
    }
    await loader.finish();
    await comparison?.finish();
    const difference = comparison === undefined ? null : { total: count, ...choices.counts };
    return { rows: count, unused: toOccurrences(unused), missing, difference };
  }

  #tooManyGroups(list: ListName, line: number): ServiceError {
    return tooManyNames(this.#groupNames, this.#rows.place(list, line), "choice types");
  }

  #onDuplicate(list: ListName): OnDuplicate {
    const duplicates = this.#duplicates[list];
    return (line, earlier, key) =>
      duplicates.add(line, () => {
        const described = `duplicate key ${excerpt(key().join(", "))}, first at line ${earlier}; the last one wins`;
        return `${this.#rows.place(list, line)}: ${described}`;
      });
  }

  #loader<Row>(
    size: number,
    load: (database: Database, generation: number, rows: readonly Row[]) => Promise<void>,
  ): BatchLoader<Row> {
    const { database, generation, signal, onProgress } = this.#context;
    return new BatchLoader(size, async (rows) => {
      signal.throwIfAborted();
      onProgress(this.#merged, false);
      if (database !== undefined && generation !== undefined) await load(database, generation, rows);
    });
  }

  /** @returns whether the batch is full */
  #add<Row>(loader: BatchLoader<Row>, row: Row, bytes: number): boolean {
    this.#garbage.count(rowBytes + bytes);
    return loader.add(row, bytes);
  }

  #compareFragments(kind: "styles" | "groups", visitor: DifferenceVisitor): OrderedComparison | undefined {
    const { database, current } = this.#context;
    if (database === undefined || current === undefined) return undefined;
    const bytesOf = ({ key, content }: Walked) => rowBytes + key.length + content.length;
    return new OrderedComparison(this.#garbage.countPages(walkFragments(database, current, kind), bytesOf), visitor);
  }

  #addUnused(unused: FirstInFile<string>, list: ListName, name: string, rows: readonly FeedRow[]): void {
    const line = Math.min(...rows.map((row) => row.line));
    unused.add(line, () => `${this.#rows.place(list, line)}: ${excerpt(name)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#skusOf[Symbol.asyncDispose]();
    await this.#stylesOf[Symbol.asyncDispose]();
  }
}

async function toDifference(total: number, comparison: OrderedComparison | undefined): Promise<Difference | null> {
  if (comparison === undefined) return null;
  await comparison.finish();
  const { added, changed, removed } = comparison;
  return { total, added, changed, removed };
}

const toOccurrences = ({ count, first }: FirstInFile<string>): Occurrences => ({ count, examples: first });
