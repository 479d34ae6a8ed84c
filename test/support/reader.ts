import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { findFreePort } from "./free-port.ts";
import { root, temporaryFolder } from "./pds.ts";
import { until } from "./until.ts";

/** Commands that a test cannot run because they run it; `.ci/run` runs them. */
const runByCi = ["npm test"];

interface Block {
  readonly language: string;
  readonly text: string;
  /** What the block that follows at once shows as output. */
  readonly output: string | undefined;
}

/** The code blocks of a page, without the indentation that they have in a list. */
export function blocksOf(markdown: string): Block[] {
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
export class Reader {
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

/**
 * Copies this repository as a newcomer clones it, except that its packages are installed. What the
 * reader starts is stopped after the test file.
 */
export async function openReader(): Promise<Reader> {
  const clone = await temporaryFolder();
  const without = ["./.git", "./node_modules", "./data", "./dist", "./site/node_modules"].map(
    (path) => `--exclude=${path}`,
  );
  await $`tar ${without} -cf - . | tar -xf - -C ${clone}`.cwd(root).quiet();
  await $`ln -s ${join(root, "node_modules")} ${join(clone, "node_modules")}`.quiet();
  const ports = { 3000: await findFreePort(), 3001: await findFreePort(), 4000: await findFreePort() };
  const reader = new Reader(clone, ports);
  afterAll(() => reader.stop());
  return reader;
}

/** Whether the text matches the example, in which "…" stands for anything, and JSON may be indented. */
function matchesExample(example: string, text: string): boolean {
  const compact = (json: string) => json.trim().replace(/\s*([{}[\],:])\s*/g, "$1");
  const literal = compact(example)
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(literal.join(".*"), "s").test(compact(text));
}

/** Tests the commands of a page, one after the other, as its reader runs them. */
export function testCommands(file: string, reader: Reader): void {
  const blocks = blocksOf(readFileSync(join(root, file), "utf8")).filter(({ language }) => language === "sh");
  /** Runs the commands so far that have not run, as the tests may run in another order. */
  let runBefore: () => Promise<string> = async () => "";
  describe(file, () => {
    for (const block of blocks) {
      const commands = commandsOf(block);
      for (const command of commands) {
        if (runByCi.includes(command)) {
          test(`has CI run: ${command}`, () => {
            expect(readFileSync(join(root, ".ci", "run"), "utf8")).toContain(`\n${command}\n`);
          });
          continue;
        }
        const runPrevious = runBefore;
        let result: Promise<string> | undefined;
        const run = () => (result ??= runPrevious().then(() => reader.run(command)));
        runBefore = () => run().catch(() => "");
        test(`has a command that works: ${command.replace(/\\\n\s*/g, "").slice(0, 80)}`, async () => {
          const output = await run();
          if (command === commands.at(-1) && block.output !== undefined) {
            const isExpected = matchesExample(block.output, output);
            expect(isExpected, `${command} printed ${output.slice(0, 400)}`).toBeTrue();
          }
        });
      }
    }
  });
}
