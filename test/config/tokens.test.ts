import { describe, expect, test } from "bun:test";
import { sha256 } from "../../src/base/hash.ts";
import { readConfig } from "../../src/config/index.ts";
import { listTokens } from "../../src/operators/tokens.ts";
import { pds, temporaryFolder, writeFiles } from "../support/pds.ts";

const folder = await temporaryFolder();
let written = 0;

async function read(text: string, environment: Record<string, string> = {}) {
  const [PDS_CONFIG] = await writeFiles(folder, { [`${++written}.toml`]: text });
  return readConfig({ PDS_CONFIG, ...environment });
}

const digest = "a".repeat(64);
const valid = `sha256 = "${digest}"\nrole = "view"`;

test("pds token create prints a token of 256 bits and the lines that let the service accept it", async () => {
  const created = await pds(["token", "create", "ann.b@example.com", "--role", "operate"], { PDS_CONFIG: "/missing" });
  expect(created).toMatchObject({ code: 0, stderr: "" });
  const token = created.stdout.match(/^pds_[\w-]{43}$/m)?.[0] ?? "";
  const lines = created.stdout.slice(created.stdout.indexOf("[admin.tokens."));
  expect(lines).not.toContain(token);
  const tokens = [{ name: "ann.b@example.com", role: "operate", sha256: sha256(token) }] as const;
  expect((await read(lines)).tokens).toEqual(tokens);
  // With it, the listener may be opened to others.
  const config = await read(lines, { ADMIN_HOST: "0.0.0.0", ADMIN_TOKEN: "correct-horse-battery" });
  expect(listTokens(config)).toEqual([
    { name: "ADMIN_TOKEN", role: "operate", sha256: sha256("correct-horse-battery") },
    ...tokens,
  ]);
  expect((await read(lines, { ADMIN_HOST: "0.0.0.0" })).tokens).toHaveLength(1);
});

test.each([
  [["ann"], /--role: expected view or operate/],
  [["ann", "--role", "admin"], /--role: expected view or operate/],
  [["a b", "--role", "view"], /NAME: expected a name of 1 to 50 ASCII letters/],
  [["ADMIN_TOKEN", "--role", "view"], /but not ADMIN_TOKEN/],
])("pds token create %j creates none", async (args, problem) => {
  const { code, stdout, stderr } = await pds(["token", "create", ...args]);
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(problem) });
});

describe("the table [admin.tokens]", () => {
  test.each([
    ["admin = 1", /:1:1: admin: expected a table$/],
    ['[admin]\ntokens = "x"', /:2:1: admin\.tokens: expected a table$/],
    ["[admin]\ntokens = 2026-01-01", /:2:1: admin\.tokens: expected a table$/],
    [`[admin.token.ann]\n${valid}`, /:1:\d+: "token" is not a setting of \[admin\]; did you mean "tokens"\?$/],
    ["[admin.tokens]\nann = 1", /:2:1: admin\.tokens\.ann: expected a table$/],
    [`[admin.tokens.ann]\nrole = "view"`, /:1:\d+: admin\.tokens\.ann\.sha256: is missing$/],
    [`[admin.tokens.ann]\nsha256 = "${digest}"`, /:1:\d+: admin\.tokens\.ann\.role: is missing$/],
    [`[admin.tokens.ann]\nsha256 = "${digest}"\nrole = "root"`, /:3:1: .*\.role: expected "view" or "operate"$/],
    [`[admin.tokens.ann]\nsha256 = "pds_secret"\nrole = "view"`, /:2:1: .*\.sha256: expected the SHA-256 of a token/],
    [`[admin.tokens.ann]\nsha256 = "${sha256("")}"\nrole = "view"`, /:2:1: .*this is the SHA-256 of an empty text/],
    [
      `[admin.tokens.ann]\n${valid}\nrolle = "view"`,
      /:4:1: "rolle" is not a setting of \[admin\.tokens\.ann\]; did you mean "role"\?$/,
    ],
    [`[admin.tokens."a b"]\n${valid}`, /admin\.tokens\.a b: expected a name of 1 to 50 ASCII letters/],
    [`[admin.tokens.ADMIN_TOKEN]\n${valid}`, /but not ADMIN_TOKEN$/],
    [
      `[admin.tokens.ann]\n${valid}\n[admin.tokens.bob]\n${valid}`,
      /tokens\.bob: is the token of ann too; create another$/,
    ],
  ])("can't be %j", async (text, problem) => {
    await expect(read(text)).rejects.toThrow(problem);
  });

  test("can't have the token of ADMIN_TOKEN, whose role is another", async () => {
    const lines = `[admin.tokens.vic]\nsha256 = "${sha256("correct-horse-battery")}"\nrole = "view"`;
    const both = read(lines, { ADMIN_TOKEN: "correct-horse-battery" });
    await expect(both).rejects.toThrow("ADMIN_TOKEN: is the token of vic too; create another");
  });

  test("is listed without hashes", async () => {
    const [PDS_CONFIG] = await writeFiles(folder, { "listed.toml": `[admin.tokens.ann]\n${valid}` });
    const { stdout } = await pds(["config"], { PDS_CONFIG });
    expect(stdout).toMatch(/^admin\.tokens\.ann +view +file$/m);
    expect(stdout).not.toContain(digest);
  });
});
