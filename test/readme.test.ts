import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { $ } from "bun";
import packageJson from "../package.json" with { type: "json" };
import { findFreePort } from "./support/free-port.ts";
import { root, temporaryFolder } from "./support/pds.ts";
import { until } from "./support/until.ts";

/** Commands that this test cannot run because they run it; `.ci/run` runs them. */
const runByCi = ["npm test"];

/** Pages that begin with a fresh clone. */
const freshPages = ["README.md", "docs/tutorial.md", "packages/platform-stand-in/README.md"];
/** Pages that share a clone, whose service runs. The short campaigns of CI try their commands. */
const sharedPages = [...new Bun.Glob("docs/{how-to,reference}/*.md").scanSync(root)].sort();
const isShortCampaign = process.env.TEST_SHORT_CAMPAIGN !== undefined;
const pageFiles = isShortCampaign ? [...freshPages.slice(1), ...sharedPages] : freshPages.slice(0, 1);

interface Block {
  readonly language: string;
  readonly text: string;
  /** What the block that follows at once shows as output. */
  readonly output: string | undefined;
}

/** The code blocks of a page, without the indentation that they have in a list. */
function blocksOf(markdown: string): Block[] {
  const found = [...markdown.matchAll(/^( *)```(\w+)\n(.*?)^\1```\n/gms)];
  return found.map(({ 0: block, 1: indent = "", 2: language = "", 3: text = "", index }, place) => {
    const next = found[place + 1];
    const isFollowed = markdown.slice(index + block.length, next?.index).trim() === "";
    return {
      language,
      text: text.replace(new RegExp(`^${indent}`, "gm"), ""),
      output: isFollowed && /^(json|text)$/.test(next?.[2] ?? "") ? next?.[3] : undefined,
    };
  });
}

/** The commands of a block, one per line unless a line ends with a backslash. */
const commandsOf = ({ text }: Block) => text.trimEnd().split(/(?<!\\)\n/);

/**
 * What a reader of a page has: a clone with its own store and ports, and the processes that the
 * page starts.
 */
class Reader {
  readonly #clone: string;
  readonly #ports: readonly { readonly documented: number; readonly actual: number }[];
  readonly #environment: Record<string, string>;
  readonly #children: Bun.Subprocess[] = [];
  #service: Bun.Subprocess | undefined;

  constructor(clone: string, ports: Readonly<Record<number, number>>) {
    this.#clone = clone;
    this.#ports = Object.entries(ports).map(([documented, actual]) => ({ documented: Number(documented), actual }));
    const portOf = (documented: number) => `${ports[documented]}`;
    this.#environment = {
      PATH: process.env.PATH ?? "",
      HOME: clone,
      PORT: portOf(3000),
      ADMIN_PORT: portOf(3001),
      SHOPIFY_API_URL: `http://127.0.0.1:${portOf(4000)}`,
    };
  }

  /** @returns what the command printed; of one that keeps running, until it is ready */
  async run(command: string): Promise<string> {
    const [, name, value = ""] = command.match(/^export (\w+)=(\S+)$/) ?? [];
    if (name !== undefined) {
      this.#environment[name] = value;
      return "";
    }
    const [, removed] = command.match(/^unset (\w+)$/) ?? [];
    if (removed !== undefined) {
      delete this.#environment[removed];
      return "";
    }
    const local = this.#ports.reduce(
      (text, { documented, actual }) =>
        text
          .replaceAll(`127.0.0.1:${documented}`, `127.0.0.1:${actual}`)
          .replace(`--port ${documented}`, `--port ${actual}`),
      command,
    );
    if (command === "npm start") return await this.#startService();
    if (/^npm run (--silent )?platform /.test(command)) return (await this.#start(local, "control")).printed;
    const child = this.#spawn(local, "pipe");
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (code !== 0) throw new Error(`${command} exited with ${code}: ${stderr}`);
    return stdout + stderr;
  }

  stop(): void {
    for (const child of this.#children) child.kill("SIGTERM");
  }

  /** Stops the npm that started the service, and waits until the service has stopped too. */
  async stopService(): Promise<void> {
    this.#service?.kill("SIGTERM");
    await until("the service has stopped", async () => !(await this.isServing()));
  }

  isServing(): Promise<boolean> {
    return fetch(`http://127.0.0.1:${this.#environment.PORT}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Starts the service; a page that starts it again says to stop it first. */
  async #startService(): Promise<string> {
    await this.stopService();
    const { child, printed } = await this.#start("npm start", "Admin");
    this.#service = child;
    // On a busy machine, the service listens before its first imports are done.
    await until("the first data is loaded", () => this.#hasData());
    return printed;
  }

  async #hasData(): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${this.#environment.PORT}/readyz`);
    const { checks } = (await response.json()) as { checks: { data?: string } };
    return checks.data === "ok";
  }

  async #start(command: string, readySign: string) {
    const child = this.#spawn(`exec ${command}`, "ignore");
    this.#children.push(child);
    let printed = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      printed += chunk;
      if (printed.includes(readySign)) break;
    }
    return { child, printed };
  }

  #spawn<Stderr extends "pipe" | "ignore">(command: string, stderr: Stderr) {
    return Bun.spawn(["sh", "-c", command], {
      cwd: this.#clone,
      env: this.#environment,
      stdio: ["ignore", "pipe", stderr],
    });
  }
}

/** Copies this repository as a newcomer clones it, except that its packages are installed. */
async function openReader(): Promise<Reader> {
  const clone = await temporaryFolder();
  const without = ["./.git", "./node_modules", "./data", "./dist", "./site/node_modules"].map(
    (path) => `--exclude=${path}`,
  );
  await $`tar ${without} -cf - . | tar -xf - -C ${clone}`.cwd(root).quiet();
  await $`ln -s ${join(root, "node_modules")} ${join(clone, "node_modules")}`.quiet();
  return new Reader(clone, { 3000: await findFreePort(), 3001: await findFreePort(), 4000: await findFreePort() });
}

const readers: Reader[] = [];
afterAll(() => {
  for (const reader of readers) reader.stop();
});

async function startReader(): Promise<Reader> {
  const reader = await openReader();
  readers.push(reader);
  return reader;
}

/** Whether the text matches the example, in which "…" stands for anything. */
function matchesExample(example: string, text: string): boolean {
  const literal = example
    .trim()
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(literal.join(".*"), "s").test(text);
}

const readme = readFileSync(join(root, "README.md"), "utf8");
const readmeReader = await startReader();
const sharedReader = await startReader();
if (isShortCampaign) await sharedReader.run("npm start");

for (const file of pageFiles) {
  const markdown = readFileSync(join(root, file), "utf8");
  const blocks = blocksOf(markdown);
  if (!blocks.some(({ language }) => language === "sh")) continue;
  const isFresh = freshPages.includes(file);
  const reader = file === "README.md" ? readmeReader : isFresh ? await startReader() : sharedReader;
  describe(file, () => {
    for (const block of blocks) {
      if (block.language !== "sh") continue;
      const commands = commandsOf(block);
      for (const command of commands) {
        if (runByCi.includes(command)) {
          test(`has CI run: ${command}`, () => {
            expect(readFileSync(join(root, ".ci", "run"), "utf8")).toContain(`\n${command}\n`);
          });
          continue;
        }
        test(`has a command that works: ${command.replace(/\\\n\s*/g, "").slice(0, 80)}`, async () => {
          const output = await reader.run(command);
          if (command === commands.at(-1) && block.output !== undefined) {
            const isExpected = matchesExample(block.output, output);
            expect(isExpected, `${command} printed ${output.slice(0, 400)}`).toBeTrue();
          }
        });
      }
    }
  });
}

describe("the README", () => {
  test("is short, and starts the service with its first command", () => {
    expect(readme.split("\n").length).toBeLessThanOrEqual(150);
    expect(blocksOf(readme)[0]).toMatchObject({ language: "sh", text: "npm start\n" });
  });

  test.if(!isShortCampaign)("starts a service that stops when the npm that started it does", async () => {
    expect(await readmeReader.isServing()).toBeTrue();
    await readmeReader.stopService();
  });
});

describe("the documentation", () => {
  const files = [
    ...["README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md", "SECURITY.md", "THIRD_PARTY.md"],
    ...[...new Bun.Glob("{docs,packages,sample,bench}/**/*.md").scanSync(root)].filter(
      (file) => !file.includes("node_modules"),
    ),
  ];

  test.each(files)("%s links to files and headings that exist", (file) => {
    const markdown = readFileSync(join(root, file), "utf8");
    for (const [, target = "", anchor] of markdown.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const path = target === "" ? join(root, file) : join(root, dirname(file), target);
      expect(existsSync(path), target).toBeTrue();
      if (anchor === undefined) continue;
      const headings = [...readFileSync(path, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
        heading
          .toLowerCase()
          .replace(/[^\w -]/g, "")
          .replaceAll(" ", "-"),
      );
      expect(headings).toContain(anchor);
    }
  });

  test("names tests that exist for the promises about security", () => {
    const text = readFileSync(join(root, "SECURITY.md"), "utf8");
    const [, promises = ""] = text.split("## What is promised, and tested");
    const tests = [...promises.matchAll(/\]\((test\/[^)]+)\): ([^;|]+)/g)];
    expect(tests.length).toBeGreaterThan(15);
    for (const [, file = "", name = ""] of tests) {
      expect(readFileSync(join(root, file), "utf8"), `${file}: ${name}`).toContain(name.trim());
    }
  });

  test("names this version in the commands of the guides", () => {
    const guides = files.filter((file) => file.startsWith("docs/how-to/"));
    const named = guides.flatMap((file) => {
      const markdown = readFileSync(join(root, file), "utf8");
      const names = markdown.matchAll(/product-data-(?:service|client|personalizer)[:_-](\d+\.\d+\.\d+)/g);
      return [...names].map(([, version]) => ({ file, version }));
    });
    expect(named).not.toBeEmpty();
    expect(named.filter(({ version }) => version !== packageJson.version)).toEqual([]);
  });

  test("is reachable from its index", () => {
    const index = readFileSync(join(root, "docs", "README.md"), "utf8");
    const pages = [...new Bun.Glob("**/*.md").scanSync(join(root, "docs"))].filter((page) => page !== "README.md");
    expect(pages.length).toBeGreaterThan(20);
    for (const page of pages) expect(index).toContain(`(${page})`);
  });

  test("has the generated parts as the program has them", async () => {
    const { exitCode, stderr } = await $`${process.execPath} scripts/document.ts --check`.cwd(root).nothrow().quiet();
    expect(stderr.toString()).toBe("");
    expect(exitCode).toBe(0);
  });
});
