import type { PersonalizationOptions } from "../config/index.ts";
import { ServiceError } from "../errors.ts";
import { choiceSchema, lineSchema, styleSchema } from "../model/personalization.ts";

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

/**
 * Looks for each list under all its names.
 * @param where what messages call the place
 * @throws ServiceError `invalid_input` when one is missing or there twice.
 */
export async function findLists<File extends { readonly name: string }>(
  options: Pick<PersonalizationOptions, "files">,
  where: string,
  look: (name: string) => Promise<File | undefined>,
): Promise<Record<ListName, File>> {
  const found = {} as Record<ListName, File>;
  for (const list of listNames) {
    const there = (await Promise.all(namesOf(list, options).map(look))).filter((file) => file !== undefined);
    const [file, second] = there;
    if (file === undefined) throw new ServiceError("invalid_input", `${where}: ${missing(list, options)}`);
    if (second !== undefined) {
      throw new ServiceError(
        "invalid_input",
        `${where}: both ${there.map(({ name }) => name).join(" and ")} are there`,
      );
    }
    found[list] = file;
  }
  return found;
}
