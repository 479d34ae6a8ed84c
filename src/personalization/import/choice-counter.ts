import type { Choice } from "../../contract/personalization.ts";
import type { DifferenceVisitor } from "../difference.ts";
import { parseRows } from "../presentation/codes.ts";

/** Counts differing choices when groups are compared, and passes the groups on. */
export class ChoiceCounter implements DifferenceVisitor {
  readonly counts = { added: 0, changed: 0, removed: 0 };
  readonly #groups: DifferenceVisitor;

  constructor(groups: DifferenceVisitor) {
    this.#groups = groups;
  }

  readonly added = (key: Uint8Array, after: Uint8Array): void => {
    this.#groups.added(key, after);
    this.counts.added += parseChoices(after).size;
  };

  readonly changed = (key: Uint8Array, before: Uint8Array, after: Uint8Array): void => {
    this.#groups.changed(key, before, after);
    const [earlier, later] = [parseChoices(before), parseChoices(after)];
    for (const [value, json] of later) {
      const known = earlier.get(value);
      if (known === undefined) this.counts.added++;
      else if (known !== json) this.counts.changed++;
    }
    for (const value of earlier.keys()) if (!later.has(value)) this.counts.removed++;
  };

  readonly removed = (key: Uint8Array, before: Uint8Array): void => {
    this.#groups.removed(key, before);
    this.counts.removed += parseChoices(before).size;
  };
}

/** Maps each choice's value to its JSON. */
function parseChoices(rows: Uint8Array): Map<string, string> {
  return new Map(parseRows<Choice>(rows).map((choice) => [choice.choice_value, JSON.stringify(choice)]));
}
