import { readFileSync, writeFileSync } from "node:fs";
import { environmentName, fileKey, settingNames, settings } from "../src/config.ts";

// Writes the README's table of settings from the one in the code; with --check it only says whether that is needed.
const path = new URL("../README.md", import.meta.url).pathname;
const begin = "<!-- settings: made by scripts/document.ts -->\n";
const end = "<!-- end of settings -->";

const rows = settingNames.map((name) => {
  const { default: value, sentence } = settings[name];
  return `| \`${environmentName(name)}\` | \`${fileKey(name)}\` | ${value === "" ? "" : `\`${value}\``} | ${sentence} |`;
});
const table = ["| environment | pds.toml | default | what it is |", "| --- | --- | --- | --- |", ...rows, ""].join(
  "\n",
);

const text = readFileSync(path, "utf8");
const documented = text.slice(0, text.indexOf(begin) + begin.length) + table + text.slice(text.indexOf(end));
if (documented !== text) {
  if (process.argv.includes("--check")) {
    process.stderr.write("README.md: the settings are not up to date: npm run document\n");
    process.exitCode = 1;
  } else {
    writeFileSync(path, documented);
  }
}
