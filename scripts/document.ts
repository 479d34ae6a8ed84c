import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { personalizationOptions, planOptions, presentationOptions } from "../src/config/jobs.ts";
import { purgeOptions } from "../src/config/purge.ts";
import { environmentName, fileKey, settingNames, settings } from "../src/config/settings.ts";
import { rawRequests } from "../test/support/raw-requests.ts";
import { describeThirdParty } from "./licenses.ts";

// Generates parts of the documentation; with --check it only reports whether they are up to date.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const program = [process.execPath, join(root, "src", "main.ts")];

const code = (text: string) => (text === "" ? "" : `\`${text}\``);

const toTable = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");

function describeSettings(): string {
  const rows = settingNames.map((name) => {
    const { default: value, sentence } = settings[name];
    return [code(environmentName(name)), code(fileKey(name)), code(value), sentence];
  });
  return toTable(["environment", "pds.toml", "default", "meaning"], rows);
}

function describePurge(): string {
  const rows = purgeOptions().map(({ name, cdns, default: value, sentence }) => [
    code(name),
    cdns.map(code).join(", "),
    code(value),
    sentence,
  ]);
  return toTable(["option", "CDN", "default", "meaning"], rows);
}

const describeOptions = (options: ReturnType<typeof planOptions>) =>
  toTable(
    ["option", "default", "meaning"],
    options.map((option) => [code(option.name), code(option.default), option.sentence]),
  );

async function printHelp(...command: string[]): Promise<string> {
  const child = Bun.spawn([...program, ...command, "--help"], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  return await child.stdout.text();
}

/** The help of the program, then that of each command it lists. */
async function describeCommands(): Promise<string> {
  const overview = await printHelp();
  const names = [...overview.matchAll(/^ {2}(\w+(?: \w+)?) {2,}\S/gm)].map(([, name = ""]) => name);
  const sections = [`\`\`\`text\n${overview}\`\`\`\n`];
  for (const name of names) sections.push(`## ${name}\n\n\`\`\`text\n${await printHelp(...name.split(" "))}\`\`\`\n`);
  return sections.join("\n");
}

/**
 * Reads the metrics of a service with the sample's personalization, so that each has its labels.
 */
async function readMetrics(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "pds-document-"));
  const PDS_CONFIG = join(folder, "pds.toml");
  await Bun.write(
    PDS_CONFIG,
    '[purge]\nurl = "http://127.0.0.1:9/"\n[jobs.personalization-import]\nsource = "sample/personalization"\nschedule = "@yearly"\n',
  );
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
      // For the metrics of deliveries; nothing is requested there.
      SHOP_DOMAIN: "shop.example",
      SHOPIFY_ACCESS_TOKEN: "none",
      SHOPIFY_WEBHOOK_SECRET: "none",
      // For the metrics of purges; there is no CDN.
      CDN: "varnish",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let printed = "";
    for await (const chunk of service.stdout.pipeThrough(new TextDecoderStream())) {
      printed += chunk;
      if (printed.includes("Admin ")) break;
    }
    const urlOf = (listener: string) => printed.match(new RegExp(`^${listener} +(\\S+)`, "m"))?.[1] ?? "";
    await fetch(`${urlOf("Public")}/histories`);
    // On a busy machine, the service listens before its first run has ended, and may not read its
    // store in time.
    for (let text = ""; ; await Bun.sleep(200)) {
      text = await (await fetch(`${urlOf("Admin")}/metrics`)).text();
      if (text.includes("pds_job_last_success_age_seconds{") && text.includes("pds_store_metrics_missing 0")) {
        return text;
      }
    }
  } finally {
    service.kill();
    await service.exited;
    await rm(folder, { recursive: true });
  }
}

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
  return toTable(["level", "message", "source"], rows);
}

function describeRawRequests(): string {
  const sections = Object.entries(rawRequests).map(([topic, requests]) => {
    const rows = requests.map(({ name, answer, section }) => [name, answer, section]);
    return `## ${topic}\n\n${toTable(["request", "answer", "RFC, section"], rows)}`;
  });
  return sections.join("\n");
}

/** The title of each decision. */
async function describeDecisions(): Promise<string> {
  const files = (await readdir(join(root, "docs", "decisions"))).sort();
  const lines = files.map(async (file) => {
    const text = await Bun.file(join(root, "docs", "decisions", file)).text();
    const [, number, title] = text.match(/^# (\d+)\. (.*)$/m) ?? [];
    return `${number}. [${title}](decisions/${file})\n`;
  });
  return (await Promise.all(lines)).join("");
}

const parts = [
  { file: "docs/README.md", name: "decisions", text: describeDecisions },
  { file: "docs/reference/settings.md", name: "settings", text: describeSettings },
  { file: "docs/reference/settings.md", name: "purge", text: async () => describePurge() },
  { file: "docs/reference/jobs.md", name: "plan", text: () => describeOptions(planOptions()) },
  { file: "docs/reference/jobs.md", name: "personalization", text: () => describeOptions(personalizationOptions()) },
  { file: "docs/reference/jobs.md", name: "presentation", text: () => describeOptions(presentationOptions()) },
  { file: "docs/reference/commands.md", name: "commands", text: describeCommands },
  { file: "docs/reference/malformed-requests.md", name: "raw requests", text: async () => describeRawRequests() },
  { file: "docs/reference/metrics.md", name: "metrics", text: describeMetrics },
  { file: "docs/reference/log-events.md", name: "log events", text: describeLogEvents },
  { file: "THIRD_PARTY.md", name: "packages", text: () => describeThirdParty(root) },
];

for (const { file, name, text } of parts) {
  const begin = `<!-- ${name}: generated by scripts/document.ts -->\n`;
  const end = `<!-- end of ${name} -->`;
  const written = await Bun.file(join(root, file)).text();
  const before = written.slice(0, written.indexOf(begin) + begin.length);
  const documented = `${before}\n${await text()}\n${written.slice(written.indexOf(end))}`;
  if (documented === written) continue;
  if (process.argv.includes("--check")) {
    process.stderr.write(`${file}: the part "${name}" is out of date; run npm run document\n`);
    process.exitCode = 1;
  } else {
    await Bun.write(join(root, file), documented);
  }
}
