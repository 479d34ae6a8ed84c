import { readFileSync, writeFileSync } from "node:fs";
import { personalizationOptions, planOptions } from "../src/config/jobs.ts";
import { environmentName, fileKey, settingNames, settings } from "../src/config/settings.ts";

// Generates the tables of settings in the documentation. With --check it only reports outdated
// tables.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));

const code = (text: string) => (text === "" ? "" : `\`${text}\``);

const tables = [
  {
    file: "README.md",
    name: "settings",
    head: ["environment", "pds.toml", "default", "description"],
    rows: settingNames.map((name) => {
      const { default: value, sentence } = settings[name];
      return [code(environmentName(name)), code(fileKey(name)), code(value), sentence];
    }),
  },
  ...[
    { file: "docs/personalization.md", name: "personalization", options: personalizationOptions() },
    { file: "docs/jobs.md", name: "plan", options: planOptions() },
  ].map(({ file, name, options }) => ({
    file,
    name,
    head: ["option", "default", "description"],
    rows: options.map((option) => [code(option.name), code(option.default), option.sentence]),
  })),
];

for (const { file, name, head, rows } of tables) {
  const begin = `<!-- ${name}: made by scripts/document.ts -->\n`;
  const end = `<!-- end of ${name} -->`;
  const table = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  const text = readFileSync(`${root}${file}`, "utf8");
  const documented = text.slice(0, text.indexOf(begin) + begin.length) + table + text.slice(text.indexOf(end));
  if (documented === text) continue;
  if (process.argv.includes("--check")) {
    process.stderr.write(`${file}: the table "${name}" is out of date; run npm run document\n`);
    process.exitCode = 1;
  } else {
    writeFileSync(`${root}${file}`, documented);
  }
}
