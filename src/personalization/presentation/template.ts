import { type Instruction, parseInstruction } from "../../../packages/personalizer/src/form/instruction.ts";
import type { Style } from "../../contract/personalization.ts";
import type { Database } from "../../database/database.ts";
import { walkRows } from "./codes.ts";
import { toTomlKey } from "./parse.ts";

/**
 * Writes a presentation in TOML with every code: limits from the instruction texts, and names to
 * fill in as comments.
 */
export async function* writeTemplate(database: Database, generation: number, locale: string): AsyncGenerator<string> {
  yield `# Write names and help texts by locale, and remove the # before them. Everything is optional.\n`;
  for await (const { name, rows } of walkRows(database, generation, "styles")) yield describeStyle(name, rows, locale);
  for await (const { name, rows } of walkRows(database, generation, "groups")) {
    yield `\n[choices.${toTomlKey(name)}]\n`;
    for (const { choice_value: value } of rows) {
      yield `# ${toTomlKey(value)}.name.${locale} = ${toTomlText(value)}\n`;
    }
  }
}

function describeStyle(style: string, lines: readonly Style[], locale: string): string {
  const path = `styles.${toTomlKey(style)}`;
  return [
    `\n[${path}]\n# name.${locale} = ${toTomlText(style)}\n`,
    ...lines.map(({ line_display_seq: line, instruct_text: text }) => {
      const fields = describeLine(parseInstruction(text, "optional"), locale).map((field) => `${field}\n`);
      return `\n# ${oneLine(text)}\n[${path}.lines.${toTomlKey(line)}]\n${fields.join("")}`;
    }),
  ].join("");
}

function describeLine({ label, hint, optional, limit, characters }: Instruction, locale: string): string[] {
  return [
    `# name.${locale} = ${toTomlText(label)}`,
    ...(hint === "" ? [] : [`# help.${locale} = ${toTomlText(hint)}`]),
    ...(limit === undefined ? [] : [`limit = ${limit}`]),
    ...(characters === undefined ? [] : [`characters = ${toTomlText(characters.slice(1, -1))}`]),
    ...(optional ? ["required = false"] : []),
  ];
}

/** JSON escapes everything that TOML does, except DEL. */
const toTomlText = (text: string) => JSON.stringify(text.toWellFormed()).replaceAll("\x7f", "\\u007F");

/** TOML allows no control characters in comments. */
const oneLine = (text: string) =>
  text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim() || "no instruction text";
