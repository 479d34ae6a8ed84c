import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createMigratedStore, main, root, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

// The device /dev/full stands for a full disk.

const folder = await temporaryFolder();
const products = join(root, "sample", "products.ndjson");
const [PDS_CONFIG = ""] = await writeFiles(folder, {
  "pds.toml": `port = 0\nadmin_port = 0\n[jobs.catalog-import]\nsource = ["${products}"]\n`,
});
const DATABASE_URL = await createMigratedStore("sqlite");

const start = (redirection: string, ...words: string[]) =>
  Bun.spawn(["sh", "-c", `exec "$0" "$@" ${redirection}`, process.execPath, main, ...words], {
    env: { PATH: process.env.PATH ?? "", DATABASE_URL, PDS_CONFIG, DRAIN_SECONDS: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });

describe("pds run", () => {
  test("fails when its result is lost", async () => {
    const child = start("> /dev/full", "run", "catalog-import");
    expect(await child.stderr.text()).toMatch(/^pds: cannot write to standard output: .+$/m);
    expect(await child.exited).toBe(1);
  });

  test("does not fail when its messages are lost", async () => {
    const child = start("2> /dev/full", "run", "catalog-import");
    expect(await child.stdout.text()).toBe("catalog-import: 80 imported for default\n");
    expect(await child.exited).toBe(0);
  });
});

test.each([
  ["head -1", "{\n"],
  ["true", ""],
])("a command whose reader has gone ends quietly, as the signal SIGPIPE would end it: | %s", async (reader, read) => {
  const script = `{ "$0" "$@"; echo "status $?" >&2; } | ${reader}`;
  // The document is larger than a pipe.
  const child = Bun.spawn(["sh", "-c", script, process.execPath, main, "openapi"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  expect([await child.stdout.text(), await child.stderr.text()]).toEqual([read, "status 141\n"]);
});

test("the service survives the loss of its log", async () => {
  const child = start("2> /dev/full", "serve");
  let printed = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) printed += decoder.decode(chunk);
  })();
  await until("it listens", () => /^Admin/m.test(printed) || child.exitCode !== null);
  const address = printed.match(/^Public +(\S+)$/m)?.[1];
  expect((await fetch(`${address}/histories`)).status).toBe(200);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
});

test("the service starts although it cannot print its addresses", async () => {
  const child = start("> /dev/full", "serve");
  let logged = "";
  const reading = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) logged += text;
  })();
  await until("it goes on", () => logged.includes("cannot print the addresses") || child.exitCode !== null);
  const address = logged.match(/"publicUrl":"([^"]+)"/)?.[1];
  expect((await fetch(`${address}/api/v1/histories`)).status).toBe(200);
  child.kill("SIGTERM");
  await reading;
  expect(await child.exited).toBe(0);
});
