import { excerpt, type Occurrences, reportedExamples } from "../../jobs/import-report.ts";
import { isNumericSequence, type ListName, lists } from "../lists.ts";
import type { FeedRow } from "./rows.ts";

/** Status codes counted separately. A file with misplaced columns can have many more. */
const maxStatuses = 50;
const otherStatuses = "(others)";

/** Counts a list's status codes and non-numeric sequences while it is read. */
export class ListStatistics {
  readonly nonNumericSequences: Occurrences = { count: 0, examples: [] };
  readonly #statuses = new Map<string, number>();
  readonly #status: number;
  readonly #sequence: number;
  /** The previous row's status, which is usually the same. */
  #lastStatus = "";
  #lastCount = 0;

  constructor(list: ListName) {
    const { columns } = lists[list];
    this.#status = columns.indexOf(statusColumn(list));
    this.#sequence = columns.findIndex((column) => column.endsWith("_seq"));
  }

  add({ line, values }: FeedRow, file: string): void {
    const status = values[this.#status] as string;
    if (status !== this.#lastStatus) this.#changeStatus(status);
    this.#lastCount++;
    const sequence = values[this.#sequence] as string;
    if (!isNumericSequence(sequence)) {
      countOccurrence(this.nonNumericSequences, () => `${file}:${line}: ${excerpt(sequence)}`);
    }
  }

  get statuses(): Readonly<Record<string, number>> {
    this.#changeStatus(this.#lastStatus);
    return Object.fromEntries(this.#statuses);
  }

  #changeStatus(status: string): void {
    if (this.#lastCount > 0) {
      const isKnown = this.#statuses.has(this.#lastStatus) || this.#statuses.size < maxStatuses;
      // Copies the status, because a slice would retain the whole chunk of the file.
      const name = isKnown ? Buffer.from(this.#lastStatus).toString() : otherStatuses;
      this.#statuses.set(name, (this.#statuses.get(name) ?? 0) + this.#lastCount);
    }
    this.#lastStatus = status;
    this.#lastCount = 0;
  }
}

export function statusColumn(list: ListName): string {
  return lists[list].columns.find((column) => column.endsWith("_status")) ?? "";
}

/** Keeps the first occurrences as examples. */
export function countOccurrence(
  occurrences: Occurrences,
  describe: () => string,
  limit: number = reportedExamples,
): void {
  occurrences.count++;
  if (occurrences.examples.length < limit) occurrences.examples.push(describe());
}

/** Counts findings in any order, and keeps the first ones in the file. */
export class FirstInFile<Found> {
  count = 0;
  readonly #limit: number;
  readonly #first: { readonly line: number; readonly found: Found }[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(line: number, describe: () => Found): void {
    this.count++;
    const isLater = line >= (this.#first.at(-1)?.line ?? Number.POSITIVE_INFINITY);
    if (this.#first.length === this.#limit && isLater) return;
    this.#first.push({ line, found: describe() });
    this.#first.sort((one, other) => one.line - other.line);
    this.#first.splice(this.#limit);
  }

  get first(): Found[] {
    return this.#first.map(({ found }) => found);
  }
}
