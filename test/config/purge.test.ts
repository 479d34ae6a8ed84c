import { expect, test } from "bun:test";
import { readConfig } from "../../src/config/index.ts";
import { showPurge } from "../../src/config/purge.ts";
import { formOf } from "../../src/service/cdn.ts";
import { type Environment, pds, temporaryFolder, writeFiles } from "../support/pds.ts";

const folder = await temporaryFolder();
let written = 0;

async function settingsOf(cdn: string, purge: string): Promise<Environment> {
  const [PDS_CONFIG] = await writeFiles(folder, { [`${++written}.toml`]: `cdn = "${cdn}"\n[purge]\n${purge}\n` });
  return { PDS_CONFIG, PURGE_TOKEN: "a-secret-token" };
}

test.each([
  ["fastly", 'service = "abc"', { cdn: "fastly", service: "abc", api_url: "https://api.fastly.com" }],
  ["cloudflare", `zone = "${"a".repeat(32)}"\nplan = "pro"`, { zone: "a".repeat(32), plan: "pro" }],
  ["varnish", 'url = "http://a:6081"', { cdn: "varnish", url: "http://a:6081" }],
  ["varnish", 'url = ["http://a", "http://b"]\nmax_age = 60', { max_age: 60 }],
  ["generic", 'url = "https://a/purge"', { method: "POST", body: '{"tags":{tags}}', max_tags: 100, max_age: 86_400 }],
])("the table [purge] for %s has options of its own: %s", async (cdn, text, expected) => {
  expect(readConfig(await settingsOf(cdn, text)).purge).toMatchObject(expected as object);
});

test.each([
  ["none", "", /:2:1: purge: set CDN; it says which provider's caches to purge$/],
  ["fastly", "", /:2:1: purge\.service: is missing$/],
  ["fastly", 'service = "a b"', /:3:1: purge\.service: expected the ID of a Fastly service$/],
  ["fastly", 'service = "a"\nzone = "b"', /:4:1: "zone" is not a setting of \[purge\] for fastly; /],
  ["cloudflare", `zone = "${"a".repeat(32)}"\nplna = "pro"`, /:4:1: "plna" is not .*did you mean "plan"\?$/],
  ["varnish", 'url = "ftp://a"', /:3:1: purge\.url: expected an http:\/\/ or https:\/\/ URL$/],
  ["varnish", "url = 1", /:3:1: purge\.url: expected an http:\/\/ or https:\/\/ URL, or a list of them$/],
  ["generic", 'url = "http://a"\nburst = 1', /:4:1: purge\.burst: expected at least 2$/],
  ["generic", 'url = "http://a"\nheaders = { "X Y" = "1" }', /:4:1: purge\.headers: expected names of headers$/],
])("the table [purge] for %s can't be %j", async (cdn, text, problem) => {
  const environment = await settingsOf(cdn, text);
  expect(() => readConfig(environment)).toThrow(problem);
});

test("the body of an endpoint's request is part of what was purged, the list of Varnish servers is not", async () => {
  const formWith = async (cdn: string, purge: string) => formOf(readConfig(await settingsOf(cdn, purge)));
  const ofSite = (site: number) => formWith("generic", `url = "http://a"\nbody = '{"site":${site},"tags":{tags}}'`);
  expect(await ofSite(1)).toBe(await ofSite(1));
  expect(await ofSite(1)).not.toBe(await ofSite(2));
  expect(await formWith("varnish", 'url = "http://a"')).toBe(await formWith("varnish", 'url = "http://b"'));
});

test("[purge] must be a table", async () => {
  const [PDS_CONFIG] = await writeFiles(folder, { "text.toml": 'purge = "fastly"\ncdn = "varnish"\n' });
  expect(() => readConfig({ PDS_CONFIG })).toThrow(/:1:1: purge: expected a table$/);
});

test("Fastly and Cloudflare need a token", async () => {
  const environment = { ...(await settingsOf("fastly", 'service = "a"')), PURGE_TOKEN: "" };
  expect(() => readConfig(environment)).toThrow(/: purge: set PURGE_TOKEN; fastly accepts no purge without it$/);
});

test("the options are printed without secrets", async () => {
  const text = 'url = "https://user:password@a/purge?key=hush"\nheaders = { Key = "12345" }\nbody = "67890"';
  const environment = await settingsOf("generic", text);
  const { code, stdout, stderr } = await pds(["config"], environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^purge\.url +https:\/\/hidden@a\/purge\?key=hidden +file$/m);
  expect(stdout).toMatch(/^PURGE_TOKEN +\(set, hidden\)/m);
  expect(stdout).not.toMatch(/password|hush|12345|67890|a-secret-token/);
  const { purge } = readConfig(environment);
  expect(purge && showPurge(purge)).toMatchObject({ headers: ["Key"], body: "(hidden)" });
});

test("the token has no effect without the table", async () => {
  const { stderr } = await pds(["config"], { PURGE_TOKEN: "a-secret-token" });
  expect(stderr).toContain("environment variable PURGE_TOKEN has no effect without a table [purge]");
});
