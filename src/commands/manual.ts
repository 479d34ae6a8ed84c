import packageJson from "../../package.json" with { type: "json" };
import type { Command } from "./command.ts";
import { print } from "./output.ts";

/** Prints a page for man(1), in its roff macros. */
export function printManual(commands: Readonly<Record<string, Command>>): boolean {
  const lines = [
    `.TH PDS 1 "" "pds ${packageJson.version}" "Product data service"`,
    ".SH NAME",
    "pds \\- personalization, job history, and product details for a storefront",
    ".SH SYNOPSIS",
    ".B pds",
    "COMMAND [ARGUMENTS] [OPTIONS]",
    ".SH COMMANDS",
    ...Object.entries(commands).flatMap(([name, command]) => describe(name, command)),
    ".SH EXIT STATUS",
    "0 for success, 1 for failure, 2 for wrong usage or an invalid setting, 3 if another version made the store,",
    "130 after an interrupt.",
    ".SH FILES",
    ".TP",
    ".I pds.toml",
    "The settings, in the working directory or where PDS_CONFIG says.",
  ];
  print(lines.join("\n"));
  return true;
}

function describe(name: string, { usage, summary, options = {} }: Command): string[] {
  const described = Object.entries(options).flatMap(([option, { type, placeholder = "TEXT", sentence }]) =>
    sentence === undefined
      ? []
      : [".TP", `.B ${toRoff(`--${option}${type === "string" ? ` ${placeholder}` : ""}`)}`, toRoff(sentence)],
  );
  return [`.SS ${toRoff(`pds ${name} ${usage}`.trimEnd())}`, toRoff(summary), ...described];
}

/** A line must not begin with a control character, a hyphen must stay one, and not all of roff reads UTF-8. */
const toRoff = (text: string) =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^[.']/, "\\&$&")
    .replace(
      /[^\0-\x7f]/gu,
      (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
