import type { Database } from "./database.ts";

/** How far something has come, kept from run to run. */
export type CursorName =
  /** The platform's `updatedAt` up to which every product has been read. */
  | "catalog-sync"
  /** The instant at which every stored product was last compared with the platform's. */
  | "catalog-reconcile"
  /** The platform's identifier of the shop that the stored products come from. */
  | "shop"
  /** How many products were removed one by one, and since when: see `removeMissing`. */
  | "removals";

export async function findCursor({ sql }: Pick<Database, "sql">, name: CursorName): Promise<string | undefined> {
  const [mark] = await sql<{ value: string }[]>`SELECT value FROM mark WHERE name = ${name}`;
  return mark?.value;
}

export async function saveCursor({ sql }: Pick<Database, "sql">, name: CursorName, value: string): Promise<void> {
  await sql`
    INSERT INTO mark (name, value) VALUES (${name}, ${value})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}
