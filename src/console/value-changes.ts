import type { PageRequest } from "../http/page.ts";
import { type ListName, lists } from "../personalization/lists.ts";
import { listRows } from "../personalization/store.ts";
import type { ConsoleContext } from "./context.ts";
import { toName } from "./urls.ts";

/** The keys are also query parameters. */
const itemLists = { sku: "pzlines", style: "pzstyles", group: "pzchoices" } as const;

export type ItemKind = keyof typeof itemLists;

export interface Item {
  readonly kind: ItemKind;
  readonly name: string;
}

export const noItem = { sku: undefined, style: undefined, group: undefined };

export function itemOf({ url: { searchParams } }: PageRequest): Item | undefined {
  const kind = (Object.keys(itemLists) as ItemKind[]).find((key) => searchParams.get(key));
  return kind && { kind, name: toName(searchParams.get(kind) ?? "") };
}

export async function readChanges(
  { database, findPersonalization }: ConsoleContext,
  { kind, name }: Item,
  from: number,
  to: number,
): Promise<ValueChange[]> {
  const read = async (generation: number): Promise<readonly Row[]> =>
    kind === "sku"
      ? (await findPersonalization(generation, name)).personalization.pzlines
      : await listRows(database, generation, kind === "style" ? "styles" : "groups", name);
  const [before, after] = await Promise.all([read(from), read(to)]);
  return listValueChanges(itemLists[kind], before, after);
}

type Row = Readonly<Record<string, string>>;

export interface ValueChange {
  /** The key of the row, without the column that all rows share. */
  readonly row: string;
  readonly field: string;
  /** Null if the row was added. */
  readonly before: string | null;
  /** Null if the row was removed. */
  readonly after: string | null;
}

/** The values that differ, in the order of the rows afterward; removed rows come last. */
function listValueChanges(list: ListName, before: readonly Row[], after: readonly Row[]): ValueChange[] {
  const { columns, key } = lists[list];
  const keyOf = (row: Row) => JSON.stringify(key.map((column) => row[column]));
  // The first column of the key is the same in all rows.
  const nameOf = (row: Row) => row[key[1]] ?? "";
  const values = columns.filter((column) => !(key as readonly string[]).includes(column));
  const earlier = new Map(before.map((row) => [keyOf(row), row]));
  const changes: ValueChange[] = [];
  const compare = (old: Row | undefined, fresh: Row | undefined) => {
    for (const field of values) {
      const [from, to] = [old?.[field] ?? null, fresh?.[field] ?? null];
      if (from !== to) changes.push({ row: nameOf((fresh ?? old) as Row), field, before: from, after: to });
    }
  };
  for (const row of after) {
    compare(earlier.get(keyOf(row)), row);
    earlier.delete(keyOf(row));
  }
  for (const row of earlier.values()) compare(row, undefined);
  return changes;
}
