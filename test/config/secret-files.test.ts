import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../../src/config/index.ts";
import { listSettingsWithoutEffect } from "../../src/config/without-effect.ts";
import { type Environment, pds, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

const token = "0123456789abcdef";
const other = "fedcba9876543210";
const folder = await temporaryFolder();
const credentials = join(folder, "credentials");
mkdirSync(credentials);
await writeFiles(folder, {
  token: `${token}\n`,
  windows: `${token}\r\n`,
  bare: token,
  store: "postgres://pds:secret@db.example/pds\n",
  empty: "",
  short: "too short\n",
  bytes: new Uint8Array([0xff, 0xfe, 0x00]),
  large: "x".repeat(64 * 1024 + 1),
  "pds.toml": `admin_token = "${other}"\nmemory_megabytes = 1\n`,
});
await writeFiles(credentials, { ADMIN_TOKEN: `${token}\n`, pds_PURGE_TOKEN: `${other}\n`, BRAND: "not a secret" });
// Kubernetes mounts secrets as links.
symlinkSync("token", join(folder, "link"));

const read = (environment: Environment) => readConfig({ PDS_CONFIG: "/dev/null", ...environment });
const inFolder = (name: string) => join(folder, name);

describe("a secret", () => {
  test.each(["token", "windows", "bare", "link"])("is read from the file that NAME_FILE names: %s", (name) => {
    const { adminToken, from } = read({ ADMIN_TOKEN_FILE: inFolder(name) });
    expect({ adminToken, from: from.adminToken }).toEqual({ adminToken: token, from: "secret file" });
  });

  test("may be the URL of the store", () => {
    expect(read({ DATABASE_URL_FILE: inFolder("store") }).databaseUrl).toBe("postgres://pds:secret@db.example/pds");
  });

  test("may be empty, as if it were not set", () => {
    expect(read({ ADMIN_TOKEN_FILE: inFolder("empty") }).adminToken).toBe("");
  });

  test("is read from the credentials that systemd loads, one by one or as a folder", () => {
    const { adminToken, purgeToken, s3AccessKeyId, brand } = read({ CREDENTIALS_DIRECTORY: credentials });
    expect({ adminToken, purgeToken, s3AccessKeyId, brand }).toEqual({
      adminToken: token,
      purgeToken: other,
      s3AccessKeyId: "",
      brand: "default",
    });
  });

  test("comes from the environment first, then from NAME_FILE, a credential, and pds.toml", () => {
    const PDS_CONFIG = inFolder("pds.toml");
    expect(read({ PDS_CONFIG }).adminToken).toBe(other);
    expect(read({ PDS_CONFIG, CREDENTIALS_DIRECTORY: credentials }).adminToken).toBe(token);
    const third = "a-third-token-of-16";
    expect(read({ PDS_CONFIG, CREDENTIALS_DIRECTORY: credentials, ADMIN_TOKEN: third }).adminToken).toBe(third);
    const named = { ADMIN_TOKEN_FILE: inFolder("empty"), CREDENTIALS_DIRECTORY: credentials };
    expect(read({ PDS_CONFIG, ...named }).adminToken).toBe("");
  });

  test.each([
    [{ ADMIN_TOKEN_FILE: inFolder("none") }, `environment variable ADMIN_TOKEN_FILE: ${folder}/none does not exist`],
    [{ ADMIN_TOKEN_FILE: "" }, "environment variable ADMIN_TOKEN_FILE: expected the path of a file"],
    [{ ADMIN_TOKEN_FILE: folder }, `cannot read ${folder}: expected a regular file`],
    [{ ADMIN_TOKEN_FILE: "/dev/zero" }, "cannot read /dev/zero: expected a regular file"],
    [{ ADMIN_TOKEN_FILE: inFolder("bytes") }, `cannot read ${folder}/bytes: expected UTF-8 text`],
    [{ ADMIN_TOKEN_FILE: inFolder("large") }, `cannot read ${folder}/large: expected a secret of at most 64 kB`],
    [{ ADMIN_TOKEN_FILE: inFolder("token"), ADMIN_TOKEN: other }, "set ADMIN_TOKEN or ADMIN_TOKEN_FILE, not both"],
    [{ ADMIN_TOKEN_FILE: inFolder("short") }, `${folder}/short: ADMIN_TOKEN: expected at least 16 visible ASCII`],
  ])("that cannot be used stops the start: %j", (environment, message) => {
    expect(() => read(environment as Environment)).toThrow(message);
  });

  test("that is wrong is not quoted", () => {
    expect(() => read({ ADMIN_TOKEN_FILE: inFolder("short") })).not.toThrow("too short");
  });
});

describe("credentials that are no settings", async () => {
  const misspelled = join(folder, "misspelled");
  mkdirSync(join(misspelled, "..data"), { recursive: true });
  await writeFiles(misspelled, {
    ADMIN_TOKN: token,
    pds_PURGE_TOKE: token,
    "tls-key": token,
    ".gitkeep": "",
    store: `sqlite:${inFolder("misspelled.sqlite")}`,
    "pds.toml": "",
  });
  const environment: Environment = {
    CREDENTIALS_DIRECTORY: misspelled,
    PDS_CONFIG: join(misspelled, "pds.toml"),
    DATABASE_URL_FILE: join(misspelled, "store"),
  };
  const expected = [
    `${misspelled}/ADMIN_TOKN has no effect: "ADMIN_TOKN" is not a secret; did you mean "ADMIN_TOKEN"?`,
    `${misspelled}/pds_PURGE_TOKE has no effect: "PURGE_TOKE" is not a secret; did you mean "PURGE_TOKEN"?`,
    expect.stringMatching(/tls-key has no effect: "tls-key" is not a secret; the secrets are ADMIN_TOKEN, /),
  ];

  test("have no effect", () => {
    expect(listSettingsWithoutEffect(readConfig(environment))).toEqual(expected);
    expect(listSettingsWithoutEffect(read({ CREDENTIALS_DIRECTORY: inFolder("none") }))).toEqual([]);
  });

  test("are named by pds check, and in the log of the start, without what is in them", async () => {
    const { stdout, stderr } = await pds(["check"], environment);
    for (const sentence of expected.slice(0, 2)) expect(stderr).toContain(sentence);
    expect(stdout + stderr).not.toContain(token);
    await using service = await serve(environment);
    await until("the start is logged", () => service.log().includes("some settings have no effect"));
    expect(service.log()).toContain("ADMIN_TOKN has no effect");
    expect(service.log()).not.toContain(token);
  });
});

describe("a service with its secrets in files", async () => {
  const environment: Environment = {
    CREDENTIALS_DIRECTORY: credentials,
    DATABASE_URL: `sqlite:${inFolder("pds.sqlite")}`,
  };
  const service = await serve(environment);
  afterAll(service.stop);

  test("requires the token", async () => {
    const statusWith = async (headers: Record<string, string>) =>
      (await fetch(`${service.adminUrl}/metrics`, { headers })).status;
    expect(await statusWith({})).toBe(401);
    expect(await statusWith({ authorization: `Bearer ${token}` })).toBe(200);
  });

  test("prints where a secret is from, and not the secret", async () => {
    const { stdout } = await pds(["config"], environment);
    expect(stdout).toMatch(/^ADMIN_TOKEN +\(set, hidden\) +secret file$/m);
    expect(stdout).not.toContain(token);
  });
});
