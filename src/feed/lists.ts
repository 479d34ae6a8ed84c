import type { PersonalizationOptions } from "../config.ts";
import { choiceSchema, lineSchema, styleSchema } from "../personalization.ts";

/** The three files of a feed: their columns in the contract's order, and which of them make a row's key. */
export const lists = {
  pzlines: { columns: Object.keys(lineSchema.shape), key: ["sku_id", "style_code"] },
  pzstyles: { columns: Object.keys(styleSchema.shape), key: ["style_code", "line_display_seq"] },
  pzchoices: { columns: Object.keys(choiceSchema.shape), key: ["choice_type", "choice_value"] },
} as const;

export type ListName = keyof typeof lists;
export const listNames = Object.keys(lists) as ListName[];

const endings = ["csv", "csv.gz", "csv.zst", "ndjson", "ndjson.gz", "ndjson.zst"];

/** The names under which a list's file may lie there. */
export function namesOf(list: ListName, { files }: Pick<PersonalizationOptions, "files">): string[] {
  const given = files[list];
  return given === undefined ? endings.map((ending) => `${list}.${ending}`) : [given];
}

export function missing(list: ListName, { files }: Pick<PersonalizationOptions, "files">): string {
  return files[list] === undefined
    ? `there is no ${list}.csv and no ${list}.ndjson, neither plain nor with .gz or .zst`
    : `there is no ${files[list]}`;
}
