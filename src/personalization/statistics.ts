import type { StyleUsers } from "../database/generation.ts";
import { type ListName, listNames, lists } from "../feed/lists.ts";
import { Hash } from "../model/fingerprint.ts";
import {
  type Difference,
  excerpt,
  type FileReport,
  type Occurrences,
  type PersonalizationReport,
  reportedExamples,
} from "../model/import-report.ts";
import { isNumericSequence } from "../model/personalization.ts";
import { findDiffering, forEachEntry, HashTable } from "./fingerprints.ts";
import type { FeedRow } from "./rows.ts";

/** By how many of the key's columns a list is compared with the current generation: by SKU, by style, by single choice. */
const comparedBy: Readonly<Record<ListName, number>> = { pzlines: 1, pzstyles: 1, pzchoices: 2 };

/** Different status codes that are counted one by one; wrong columns have more. */
const countedStatuses = 50;
const otherStatuses = "(others)";

/** Values of a row's entry in the table of rows, and of what a list is compared by. */
const fingerprint = 0;
const line = 1;

const entriesPerPart = 65_536;

/** Keeps account of one list of a feed: keys, changes, status codes, sequences. It takes 24 to 48 bytes a row. */
export class ListStatistics {
  readonly nonNumericSequences: Occurrences = { count: 0, examples: [] };
  readonly statuses = new Map<string, number>();
  readonly #comparedBy: number;
  /** The columns, those of the key first, and among them those by which it is compared. */
  readonly #order: readonly number[];
  readonly #status: number;
  readonly #sequence: number;
  readonly #hash = new Hash();
  readonly #rows = new HashTable(2);
  readonly #things = new HashTable(1);

  constructor(list: ListName) {
    const { columns, key } = lists[list];
    const keyPlaces = key.map((column) => columns.indexOf(column));
    this.#comparedBy = comparedBy[list];
    this.#order = [...keyPlaces, ...columns.keys().filter((index) => !keyPlaces.includes(index))];
    this.#status = columns.findIndex((column) => column.endsWith("_status"));
    this.#sequence = columns.findIndex((column) => column.endsWith("_seq"));
  }

  /** How many SKUs, styles or choices there are. */
  get size(): number {
    return this.#things.size;
  }

  /** Takes a row in. @returns where its key was before; -1 when it is new */
  add({ line: at, values }: FeedRow, file: string): number {
    const status = values[this.#status] ?? "";
    const known = this.statuses.get(status);
    if (known === undefined) this.#countStatus(status);
    else this.statuses.set(status, known + 1);
    const sequence = values[this.#sequence] ?? "";
    if (!isNumericSequence(sequence)) sight(this.nonNumericSequences, () => `${file}:${at}: ${excerpt(sequence)}`);

    const hash = this.#hash.reset();
    let thing = -1;
    let row = -1;
    for (let index = 0; index < this.#order.length; index++) {
      hash.add(values[this.#order[index] as number] as string);
      if (index < 2) hash.take();
      if (index + 1 === this.#comparedBy) thing = this.#things.add(hash.high, hash.low);
      if (index === 1) row = this.#rows.add(hash.high, hash.low);
    }
    const { low } = hash.take();
    const thingPlace = thing < 0 ? ~thing : thing;
    const rowPlace = row < 0 ? ~row : row;
    const before = row < 0 ? 0 : this.#rows.get(rowPlace, fingerprint);
    const earlier = row < 0 ? -1 : this.#rows.get(rowPlace, line);
    // A sum, so that the order of the rows does not matter, and a row that comes again can be taken out.
    this.#things.set(thingPlace, fingerprint, this.#things.get(thingPlace, fingerprint) + low - before);
    this.#rows.set(rowPlace, fingerprint, low);
    this.#rows.set(rowPlace, line, at);
    return earlier;
  }

  #countStatus(status: string): void {
    const name = this.statuses.size < countedStatuses ? status : otherStatuses;
    this.statuses.set(name, (this.statuses.get(name) ?? 0) + 1);
  }

  /** A row's key, for a message. */
  keyOf({ values }: FeedRow): string {
    return excerpt(
      this.#order
        .slice(0, 2)
        .map((place) => values[place])
        .join(", "),
    );
  }

  /** The fingerprints of all SKUs, styles or choices, in parts of less than a megabyte. */
  digest(): Generator<Uint8Array> {
    return this.#things.export(entriesPerPart);
  }

  /** @param digest that of another generation of the same list, in parts */
  async differenceFrom(digest: AsyncIterable<Uint8Array>): Promise<Difference> {
    let same = 0;
    let changed = 0;
    let removed = 0;
    for await (const part of digest) {
      forEachEntry(part, (high, low, value) => {
        const place = this.#things.find(high, low);
        if (place < 0) removed++;
        else if (this.#things.get(place, fingerprint) === value) same++;
        else changed++;
      });
    }
    return { total: this.size, added: this.size - same - changed, changed, removed };
  }

  /** The fingerprints of what is not as in another generation, or only in one of the two. @returns undefined when there are more than `most` */
  fingerprintsOfChanged(digest: AsyncIterable<Uint8Array>, most: number): Promise<number[] | undefined> {
    return findDiffering(this.#things, digest, most);
  }
}

/** Counts one, and keeps it as an example while there are few. */
export function sight(sighting: Occurrences, describe: () => string): void {
  sighting.count++;
  if (sighting.examples.length < reportedExamples) sighting.examples.push(describe());
}

/** A style or a choice group by name: where it first was, whether a line or a style uses it, and of a style the SKUs that offer it. */
type Uses = Map<string, { readonly where: string; isUsed: boolean; readonly skus: Occurrences }>;

/** SKUs that are kept of those that offer a style. */
const keptSkus = 20;

/** Keeps account of a whole feed. Lists come in the order choices, styles, lines. */
export class FeedStatistics {
  readonly lists: Readonly<Record<ListName, ListStatistics>> = {
    pzlines: new ListStatistics("pzlines"),
    pzstyles: new ListStatistics("pzstyles"),
    pzchoices: new ListStatistics("pzchoices"),
  };
  readonly #styles: Uses = new Map();
  readonly #groups: Uses = new Map();
  readonly #linesWithoutStyle: Occurrences = { count: 0, examples: [] };

  /** Takes a row in. @returns the line at which its key was before; -1 when it is new */
  add(list: ListName, row: FeedRow, file: string): number {
    const { line, values } = row;
    const earlier = this.lists[list].add(row, file);
    if (list === "pzchoices") addName(this.#groups, values[0], file, line);
    else if (list === "pzstyles") {
      addName(this.#styles, values[0], file, line);
      const group = this.#groups.get(values[choiceTypeOfStyle] ?? "");
      if (group !== undefined) group.isUsed = true;
    } else {
      const style = this.#styles.get(values[styleOfLine] ?? "");
      if (style !== undefined) {
        style.isUsed = true;
        if (earlier < 0) countSku(style.skus, values[skuOfLine] ?? "");
      } else sight(this.#linesWithoutStyle, () => `${file}:${line}: ${excerpt(values[styleOfLine] ?? "")}`);
    }
    return earlier;
  }

  /** Which SKUs offer each style. */
  *styleUsers(): Generator<StyleUsers> {
    for (const [style, { skus }] of this.#styles) yield { style, ...skus };
  }

  /** @param digestOf that of the current generation; undefined when there is nothing to compare with */
  async report(
    files: readonly FileReport[],
    digestOf: (list: ListName) => AsyncIterable<Uint8Array> | undefined,
  ): Promise<PersonalizationReport> {
    const differenceOf = async (list: ListName) => {
      const digest = digestOf(list);
      return digest === undefined ? null : await this.lists[list].differenceFrom(digest);
    };
    const { pzlines, pzstyles, pzchoices } = this.lists;
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
        count:
          pzlines.nonNumericSequences.count + pzstyles.nonNumericSequences.count + pzchoices.nonNumericSequences.count,
        examples: [pzlines, pzstyles, pzchoices]
          .flatMap((list) => list.nonNumericSequences.examples)
          .slice(0, reportedExamples),
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
const statusColumn = (list: ListName) => lists[list].columns.find((column) => column.endsWith("_status")) ?? "";

function addName(uses: Uses, name = "", file: string, line: number): void {
  if (!uses.has(name)) uses.set(name, { where: `${file}:${line}`, isUsed: false, skus: { count: 0, examples: [] } });
}

function countSku(skus: Occurrences, sku: string): void {
  skus.count++;
  // A copy: what was cut out of a piece of the file would keep all of it.
  if (skus.examples.length < keptSkus) skus.examples.push(Buffer.from(sku).toString());
}

function unused(uses: Uses): Occurrences {
  const sighting: Occurrences = { count: 0, examples: [] };
  for (const [name, { where, isUsed }] of uses) if (!isUsed) sight(sighting, () => `${where}: ${excerpt(name)}`);
  return sighting;
}
