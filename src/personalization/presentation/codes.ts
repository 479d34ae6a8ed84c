import type { Choice, Style } from "../../contract/personalization.ts";
import type { Database } from "../../database/database.ts";
import { decodeText } from "../bytes.ts";
import { walkFragments } from "../generation-walk.ts";

export interface FeedStyle {
  readonly style: string;
  readonly lines: readonly Style[];
}

/** Styles with lines, by code. */
export async function* walkStyles(database: Database, generation: number): AsyncGenerator<FeedStyle> {
  for await (const page of walkFragments(database, generation, "styles")) {
    for (const { key, content } of page) yield { style: decodeText(key), lines: parseRows<Style>(content) };
  }
}

/** Groups with choices, by name. */
export async function* walkGroups(
  database: Database,
  generation: number,
): AsyncGenerator<{ readonly group: string; readonly choices: readonly Choice[] }> {
  for await (const page of walkFragments(database, generation, "groups")) {
    for (const { key, content } of page) yield { group: decodeText(key), choices: parseRows<Choice>(content) };
  }
}

/** @param rows JSON objects, separated by commas */
export const parseRows = <Row>(rows: Uint8Array) => JSON.parse(`[${decodeText(rows)}]`) as Row[];
