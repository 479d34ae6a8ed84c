import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { z } from "zod";
import { purgeSchemas } from "../src/cdn/options.ts";
import { commands } from "../src/commands/index.ts";
import { environmentName, settingNames, settings } from "../src/config/settings.ts";
import { planShape } from "../src/jobs/options.ts";
import { personalizationShape } from "../src/personalization/options.ts";
import { presentationShape } from "../src/personalization/presentation/options.ts";
import { rawRequests } from "../test/support/raw-requests.ts";
import { describeResponses } from "./response-types.ts";

// Generates parts of the documentation, and the types of Shopify's responses; with --check it only
// reports whether they are up to date.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const program = [process.execPath, join(root, "src", "main.ts")];

const code = (text: string) => (text === "" ? "" : `\`${text}\``);

const toTable = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");

function describeSettings(): string {
  const rows = settingNames.map((name) => {
    const { default: value, sentence } = settings[name];
    return [code(environmentName(name)), code(value), sentence];
  });
  return toTable(["setting", "default", "meaning"], rows);
}

type Shape = Readonly<Record<string, z.ZodType>>;

/** The cells of an option: its name, its default, and its meaning. */
function describeOption([name, schema]: readonly [string, z.ZodType]): [string, string, string] {
  const { defaultValue } = schema.def as { defaultValue?: unknown };
  return [code(name), code(defaultValue === undefined ? "" : JSON.stringify(defaultValue)), schema.description ?? ""];
}

function describePurge(): string {
  const found = Object.entries(purgeSchemas).flatMap(([cdn, { shape }]) =>
    Object.entries(shape as Shape).map((option) => ({ cdn: code(cdn), cells: describeOption(option) })),
  );
  // An option of several CDNs has one row, unless its meaning differs.
  const groups = Map.groupBy(found, ({ cells: [name, , sentence] }) => `${name} ${sentence}`);
  const rows = [...groups.values()].map((group) => {
    const [
      {
        cells: [name, value, sentence],
      },
    ] = group as [(typeof found)[number]];
    return [name, group.map(({ cdn }) => cdn).join(", "), value, sentence];
  });
  return toTable(["option", "CDN", "default", "meaning"], rows);
}

const describeOptions = (shape: Shape) =>
  toTable(["option", "default", "meaning"], Object.entries(shape).map(describeOption));

async function printHelp(...command: string[]): Promise<string> {
  const child = Bun.spawn([...program, ...command, "--help"], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  return await child.stdout.text();
}

/** The help of the program, then the usage of each command, and its own options. */
async function describeCommands(): Promise<string> {
  const overview = await printHelp();
  const short: string[] = [];
  const sections: string[] = [];
  for (const name of Object.keys(commands)) {
    const [usage = "", , all = ""] = (await printHelp(...name.split(" "))).split("\n\n");
    const options = all.trimEnd().replace(/^ +(?:-h, --help|--json) .*\n?/gm, "");
    if (options === "Options:\n") short.push(`${usage.replace("Usage: ", "")}\n`);
    else sections.push(`## ${name}\n\n\`\`\`text\n${usage}\n\n${options}\`\`\`\n`);
  }
  const listed = `These have no other options:\n\n\`\`\`text\n${short.join("")}\`\`\`\n`;
  return [`\`\`\`text\n${overview}\`\`\`\n`, listed, ...sections].join("\n");
}

/** Starts a service whose store is empty, and stops it after the work. @param settings its pds.toml */
async function withService<T>(
  settings: string,
  environment: Readonly<Record<string, string>>,
  work: (urlOf: (listener: string) => string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "pds-document-"));
  const PDS_CONFIG = join(folder, "pds.toml");
  await Bun.write(PDS_CONFIG, settings);
  const DATABASE_URL = `sqlite:${join(folder, "pds.sqlite")}`;
  const service = Bun.spawn([...program, "serve"], {
    cwd: root,
    env: {
      PDS_CONFIG,
      DATABASE_URL,
      PORT: "0",
      ADMIN_PORT: "0",
      LOG_LEVEL: "silent",
      DRAIN_SECONDS: "0",
      ...environment,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let printed = "";
    for await (const chunk of service.stdout.pipeThrough(new TextDecoderStream())) {
      printed += chunk;
      if (printed.includes("Admin ")) break;
    }
    return await work((listener) => printed.match(new RegExp(`^${listener} +(\\S+)`, "m"))?.[1] ?? "");
  } finally {
    service.kill();
    await service.exited;
    await rm(folder, { recursive: true });
  }
}

/** Asks until the text is complete: on a busy machine, a service listens before its first runs have ended. */
async function fetchUntil(isComplete: (text: string) => boolean, url: string): Promise<string> {
  for (;;) {
    const text = await (await fetch(url)).text();
    if (isComplete(text)) return text;
    await Bun.sleep(200);
  }
}

const personalizationJob = '[jobs.personalization-import]\nsource = "sample/personalization"\nschedule = "@yearly"\n';

/** Reads the metrics of a service with the sample's personalization, so that each has its labels. */
const readMetrics = () =>
  withService(
    `[purge]\nurl = "http://127.0.0.1:9/"\n${personalizationJob}`,
    // For the metrics of deliveries and purges; nothing is requested there.
    {
      SHOP_DOMAIN: "shop.example",
      SHOPIFY_ACCESS_TOKEN: "none",
      SHOPIFY_WEBHOOK_SECRET: "none",
      CDN: "varnish",
    },
    async (urlOf) => {
      await fetch(`${urlOf("Public")}/histories`);
      return await fetchUntil(
        (text) => text.includes("pds_job_last_success_age_seconds{") && text.includes("pds_store_metrics_missing 0"),
        `${urlOf("Admin")}/metrics`,
      );
    },
  );

/** A response of the sample brand for each schema. */
async function describeExamples(): Promise<string> {
  const settings = await Bun.file(join(root, "pds.toml")).text();
  const examples = await withService(settings, {}, async (urlOf) => {
    const api = urlOf("Public");
    const request = async (path: string) => await (await fetch(api + path)).json();
    const { histories } = (await request("/histories/desc")) as { readonly histories: { readonly brand: string }[] };
    return {
      Histories: { histories: histories.slice(0, 3).map(toExampleRun) },
      Personalization: await request("/products/pz/TM814935W"),
      ProductAnswer: await request("/products/6781273997312"),
      Personalizations: await request("/products/pz?sku=TM814935W&sku=TM814973W"),
      Form: await request("/products/form/en/TM814935W"),
    };
  });
  return `${JSON.stringify(examples, null, 2)}\n`;
}

/** Of which jobs the newest runs are depends on the time of day. */
const toExampleRun = ({ brand }: { brand: string }, index: number) => ({
  brand,
  counts: [337, 1096, 80][index],
  created_at: `2026-11-27T08:3${2 - index}:00Z`,
});

async function describeMetrics(): Promise<string> {
  const text = await readMetrics();
  const rows = [...text.matchAll(/^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$/gm)].map(
    ([, name = "", help = "", type = ""]) => {
      const samples = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\}`, "gm"));
      const labels = [...samples].flatMap(([, found = ""]) =>
        [...found.matchAll(/(\w+)="/g)].map(([, label = ""]) => label),
      );
      const named = [...new Set(labels)].filter((label) => label !== "le").map(code);
      return [code(name), type, named.join(", "), help];
    },
  );
  return toTable(["metric", "type", "labels", "meaning"], rows);
}

/** The messages that the source logs; those that are computed elsewhere are documented by hand. */
async function describeLogEvents(): Promise<string> {
  const rows: string[][] = [];
  for (const file of [...new Bun.Glob("**/*.{ts,tsx}").scanSync(join(root, "src"))].sort()) {
    const text = await Bun.file(join(root, "src", file)).text();
    for (const [, level = "", call = ""] of text.matchAll(/\blog\.(debug|info|warn|error)\((.*?)\);?$/gms)) {
      const message = call.match(/(`.*`|"(?:[^"\\]|\\.)*")[\s,)]*$/s)?.[1]?.slice(1, -1);
      if (message !== undefined) rows.push([level, message.replace(/\$\{[^}]*\}/g, "…"), code(`src/${file}`)]);
    }
  }
  const seen = new Set<string>();
  const distinct = rows.filter((row) => !seen.has(`${row}`) && seen.add(`${row}`));
  return toTable(["level", "message", "source"], distinct);
}

/** Whether the page gives the answer to a malformed request in one sentence. */
const isUsual = (topic: string, answer: string) =>
  answer === "400 (runtime), closed" || (topic === "Host" && answer === "400");

/** Of each topic, the other answers with the requests that get them. */
function describeRawRequests(): string {
  const sections = Object.entries(rawRequests).map(([topic, requests]) => {
    const others = requests.filter(({ answer }) => !isUsual(topic, answer));
    const byAnswer = Map.groupBy(others, ({ answer }) => answer);
    const rows = [...byAnswer].map(([answer, group]) => [answer, group.map(({ name }) => name).join("; ")]);
    return `## ${topic}\n\n${toTable(["answer", "requests"], rows)}`;
  });
  return sections.join("\n");
}

/** The title of each decision. */
async function describeDecisions(): Promise<string> {
  const files = (await readdir(join(root, "docs", "decisions"))).filter((file) => file !== "README.md").sort();
  const lines = files.map(async (file) => {
    const text = await Bun.file(join(root, "docs", "decisions", file)).text();
    const [, number, title] = text.match(/^# (\d+)\. (.*)$/m) ?? [];
    return `${number}. [${title}](${file})\n`;
  });
  return (await Promise.all(lines)).join("");
}

const parts = [
  { file: "docs/decisions/README.md", name: "decisions", text: describeDecisions },
  { file: "docs/reference/settings.md", name: "settings", text: describeSettings },
  { file: "docs/reference/settings.md", name: "purge", text: async () => describePurge() },
  { file: "docs/reference/jobs.md", name: "plan", text: () => describeOptions(planShape) },
  { file: "docs/reference/jobs.md", name: "personalization", text: () => describeOptions(personalizationShape) },
  { file: "docs/reference/jobs.md", name: "presentation", text: () => describeOptions(presentationShape) },
  { file: "docs/reference/commands.md", name: "commands", text: describeCommands },
  { file: "docs/reference/malformed-requests.md", name: "raw requests", text: async () => describeRawRequests() },
  { file: "docs/reference/metrics.md", name: "metrics", text: describeMetrics },
  { file: "docs/reference/log-events.md", name: "log events", text: describeLogEvents },
];

for (const { file, name, text } of parts) {
  const begin = `<!-- ${name}: generated by scripts/document.ts -->\n`;
  const end = `<!-- end of ${name} -->`;
  const written = await Bun.file(join(root, file)).text();
  const before = written.slice(0, written.indexOf(begin) + begin.length);
  await update(file, `the part "${name}"`, `${before}\n${await text()}\n${written.slice(written.indexOf(end))}`);
}
await update("src/reference/examples.json", "it", await describeExamples());
await update("src/platforms/shopify/responses.ts", "it", await describeResponses(root));

async function update(file: string, part: string, text: string): Promise<void> {
  if ((await Bun.file(join(root, file)).text()) === text) return;
  if (process.argv.includes("--check")) {
    process.stderr.write(`${file}: ${part} is out of date; run npm run document\n`);
    process.exitCode = 1;
  } else {
    await Bun.write(join(root, file), text);
  }
}
