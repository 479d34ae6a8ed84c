import type { OrderedList } from "../paging.ts";
import { readTerms, SearchNotSupported, toInterval, within } from "./search.ts";
import { toTimestamp } from "./times.ts";

/** A deleted product, as both `events` and `deletionEvents` report it. */
export interface DeletionRecord {
  readonly __typename: "BasicEvent" | "DeletionEvent";
  readonly id: string;
  readonly action: "destroy";
  readonly createdAt: string;
  readonly occurredAt: string;
  readonly subjectId: string;
  readonly subjectType: "PRODUCT";
}

interface Deletion {
  readonly id: string;
  /** Seconds since 1970. */
  readonly at: number;
}

const times = ["created_at", "occurred_at"];

/** The deletions of products, in their order. */
export class Deletions {
  readonly #deletions: Deletion[] = [];

  add(deletion: Deletion): void {
    this.#deletions.push(deletion);
  }

  list(query: string | null | undefined, typename: DeletionRecord["__typename"]): OrderedList<DeletionRecord> {
    const tests: ((deletion: Deletion) => boolean)[] = [];
    for (const { field, operator, value } of readTerms(query)) {
      if (times.includes(field)) tests.push(within(toInterval(operator, value), ({ at }) => at));
      else if (field === "subject_type") tests.push(() => value === "PRODUCT");
      else if (field === "action") tests.push(() => value === "destroy");
      else throw new SearchNotSupported(`does not know the search term "${field}"`);
    }
    const found = this.#deletions.filter((deletion) => tests.every((test) => test(deletion)));
    return {
      length: found.length,
      at: (index) => toRecord(found[index] as Deletion, typename),
      positionAt: (index) => ({ id: (found[index] as Deletion).id, value: index + 1 }),
      indexAfter: ({ value }) => value,
    };
  }
}

function toRecord({ id, at }: Deletion, __typename: DeletionRecord["__typename"]): DeletionRecord {
  const time = toTimestamp(at);
  return {
    __typename,
    id: `gid://shopify/BasicEvent/${id}`,
    action: "destroy",
    createdAt: time,
    occurredAt: time,
    subjectId: `gid://shopify/Product/${id}`,
    subjectType: "PRODUCT",
  };
}
