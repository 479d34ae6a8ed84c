import type { Choice, Style } from "../../contract/personalization.ts";
import type { Database } from "../../database/database.ts";
import { decodeText } from "../bytes.ts";
import { walkFragments } from "../generation-walk.ts";

interface Rows {
  readonly styles: readonly Style[];
  readonly groups: readonly Choice[];
}

/** Styles with their lines by code, or groups with their choices by name; those that have any. */
export async function* walkRows<Kind extends keyof Rows>(
  database: Database,
  generation: number,
  kind: Kind,
): AsyncGenerator<{ readonly name: string; readonly rows: Rows[Kind] }> {
  for await (const page of walkFragments(database, generation, kind)) {
    for (const { key, content } of page) yield { name: decodeText(key), rows: parseRows(content) as Rows[Kind] };
  }
}

/** @param rows JSON objects, separated by commas */
export const parseRows = <Row>(rows: Uint8Array) => JSON.parse(`[${decodeText(rows)}]`) as Row[];
