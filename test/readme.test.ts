import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { root, temporaryFolder } from "./support/pds.ts";
import { freePort } from "./support/postgres.ts";

/** Commands that this test cannot run because they run it: `.ci/run` does. */
const runByCi = ["npm test"];

const readme = readFileSync(join(root, "README.md"), "utf8");

interface Block {
  readonly language: string;
  readonly text: string;
  /** The heading that it stands under. */
  readonly section: string;
}

const blocks: Block[] = readme.split(/^## /m).flatMap((part) => {
  const section = part.slice(0, part.indexOf("\n"));
  const found = [...part.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return found.map(([, language = "", text = ""]) => ({ language, text, section }));
});

// The clone of a newcomer: the files of this repository, its own store, packages installed already.
const clone = await temporaryFolder();
const without = ["./.git", "./node_modules", "./data", "./dist"].map((path) => `--exclude=${path}`);
await $`tar ${without} -cf - . | tar -xf - -C ${clone}`.cwd(root).quiet();
await $`ln -s ${join(root, "node_modules")} ${join(clone, "node_modules")}`.quiet();
const [port, platformPort] = [await freePort(), await freePort()];
const environment = { PATH: process.env.PATH ?? "", HOME: clone, PORT: `${port}`, ADMIN_PORT: "0" };

const begun: Bun.Subprocess[] = [];
afterAll(() => begun.map((child) => child.kill("SIGTERM")));

/** Runs a command that goes on, until it has printed what shows that it is there. */
async function begin(command: string, sign: string, added: Record<string, string> = {}) {
  const child = Bun.spawn(["sh", "-c", `exec ${command}`], {
    cwd: clone,
    env: { ...environment, ...added },
    stdio: ["ignore", "pipe", "ignore"],
  });
  begun.push(child);
  let printed = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    if (printed.includes(sign)) break;
  }
  return { child, printed };
}

const { child: service, printed } = await begin("npm start", "Admin");
// The README's other terminal: the stand-in, and the service against it.
const platformCommand = "npm run --silent platform -- --port 4000 --products 300";
await begin(platformCommand.replace("4000", `${platformPort}`), "control");
const secondPort = await freePort();
const second = { SHOPIFY_API_URL: `http://127.0.0.1:${platformPort}`, PORT: `${secondPort}` };

/** What a section has exported so far: it has terminals of its own. */
const exported: Record<string, Record<string, string>> = {};

async function run(command: string, section: string): Promise<string> {
  const [, name, value = ""] = command.match(/^export (\w+)=(\S+)$/) ?? [];
  if (name !== undefined) {
    exported[section] = { [name]: value, ...second };
    return "";
  }
  const env = { ...environment, ...exported[section] };
  if (command === "npm start") return (await begin(command, "Admin", exported[section])).printed;
  const here = command.replace("127.0.0.1:3000", `127.0.0.1:${env.PORT}`);
  const child = Bun.spawn(["sh", "-c", here], { cwd: clone, env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`);
  return stdout + stderr;
}

/** Whether the text is what the example shows, with anything where that has "…". */
function shows(example: string, text: string): boolean {
  const literal = example
    .trim()
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(literal.join(".*"), "s").test(text);
}

describe("the README", () => {
  test("starts the service with its first command", () => {
    expect(blocks[0]).toMatchObject({ language: "sh", text: "npm start\n" });
    expect(printed).toContain(`http://127.0.0.1:${port}/api/v1`);
  });

  for (const [index, { language, text, section }] of blocks.entries()) {
    if (language !== "sh" || index === 0 || text === `${platformCommand}\n`) continue;
    for (const command of text.trimEnd().split("\n")) {
      if (runByCi.includes(command)) {
        test(`has CI run: ${command}`, () => {
          expect(readFileSync(join(root, ".ci", "run"), "utf8")).toContain(`\n${command}\n`);
        });
        continue;
      }
      test(`has a command that works: ${command}`, async () => {
        const output = await run(command, section);
        const next = blocks[index + 1];
        if (next !== undefined && /json|text/.test(next.language)) {
          expect(shows(next.text, output), `${command} printed ${output.slice(0, 400)}`).toBeTrue();
        }
      }, 120_000);
    }
  }

  test("links to files that are there", async () => {
    const targets = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, target = ""]) => target);
    expect(targets.length).toBeGreaterThan(3);
    for (const target of targets) expect(await Bun.file(join(root, target)).exists(), target).toBeTrue();
  });

  test("has every setting, as the code has it", async () => {
    const { exitCode } = await $`${process.execPath} scripts/document.ts --check`.cwd(root).nothrow().quiet();
    expect(exitCode).toBe(0);
  });

  test("starts a service that stops when the npm that started it does", async () => {
    const answers = () =>
      fetch(`http://127.0.0.1:${port}/livez`).then(
        (response) => response.ok,
        () => false,
      );
    expect(await answers()).toBeTrue();
    service.kill("SIGTERM");
    for (let tries = 0; tries < 100 && (await answers()); tries++) await Bun.sleep(50);
    expect(await answers()).toBeFalse();
  });
});
