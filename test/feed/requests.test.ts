import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createFetch } from "../../src/base/outgoing.ts";
import { bucketSource } from "../../src/feed/bucket.ts";
import { bodyOf, Requests } from "../../src/feed/requests.ts";
import type { SourceSettings } from "../../src/feed/source.ts";
import { webSource } from "../../src/feed/web.ts";
import { temporaryFolder } from "../support/pds.ts";
import { startBreakableServer } from "../support/server.ts";

const settings: SourceSettings = {
  ...{ feedAuthorization: "", maxFileMegabytes: 1, allowedLinkLocal: [] },
  ...{ s3Endpoint: "", s3Region: "eu-central-1", s3AccessKeyId: "key", s3SecretAccessKey: "secret" },
};
const never = new AbortController().signal;

/** A server that answers its nth request as told, counted from 1. */
async function startServer(answer: (time: number, response: ServerResponse, method: string) => void) {
  let time = 0;
  const url = await startBreakableServer(({ method = "" }, response) => answer(++time, response, method));
  return { url, count: () => time };
}

const openFolder = async () => ({ path: await temporaryFolder(), remove: async () => {} });

const sources = [
  ["a web server", (url: string) => webSource(`${url}/feed/`, settings, never)],
  ["a bucket", (url: string) => bucketSource("s3://feed/", { ...settings, s3Endpoint: url }, never)],
] as const;

test.each(sources)("a file of %s without a body is an empty file, also with status 204", async (_, sourceOf) => {
  for (const [status, headers] of [
    [204, {}],
    [200, { "Content-Length": "0" }],
    [200, {}],
  ] as const) {
    const { url } = await startServer((_, response, method) => {
      const isHead = method === "HEAD";
      const validators = { ETag: '"1"', "Last-Modified": new Date(0).toUTCString() };
      response.writeHead(isHead ? 200 : status, { ...validators, ...headers }).end();
    });
    const source = sourceOf(url);
    const file = await source.findFile("pzlines.csv");
    const path = file && (await source.fetch(file, openFolder));
    expect([status, readFileSync(`${path}`, "utf8")]).toEqual([status, ""]);
  }
});

const failures: [string, (response: ServerResponse) => void][] = [
  ["503", (response) => response.writeHead(503).end()],
  ["429", (response) => response.writeHead(429).end()],
  ["a closed connection", (response) => response.destroy()],
];

test.concurrent.each(
  sources.flatMap(([name, sourceOf]) => failures.map((fails) => [name, ...fails, sourceOf] as const)),
)("a request to %s is repeated after %s, and if data stops coming", async (_, __, fail, sourceOf) => {
  const content = "sku_id,style_code\n";
  const { url, count } = await startServer((time, response, method) => {
    const headers = { ETag: '"1"', "Last-Modified": new Date(0).toUTCString(), "Content-Length": content.length };
    // A bucket asks twice: what it has, and why it refuses.
    if (time <= 2) fail(response);
    else if (method === "HEAD") response.writeHead(200, headers).end();
    else if (time <= 4) response.writeHead(200, headers).write(content.slice(0, 3), () => response.destroy());
    else response.writeHead(200, headers).end(content);
  });
  const source = sourceOf(url);
  const file = await source.findFile("pzlines.csv");
  const path = file && (await source.fetch(file, openFolder));
  expect(readFileSync(`${path}`, "utf8")).toBe(content);
  expect(count()).toBeGreaterThan(4);
});

test("a request that is refused for good is not repeated", async () => {
  for (const [, sourceOf] of sources) {
    const { url, count } = await startServer((_, response) => response.writeHead(403).end());
    await expect(sourceOf(url).findFile("pzlines.csv")).rejects.toThrow("403");
    expect(count()).toBeLessThanOrEqual(2);
  }
});

test("a response that stalls before its head, or in its body, fails, and says so", async () => {
  for (const begin of [() => {}, (response: ServerResponse) => response.writeHead(200).write("some")]) {
    const { url } = await startServer((_, response) => begin(response));
    const requests = new Requests(createFetch(settings), never, 100);
    const read = requests.send(url, {}, (response) => Array.fromAsync(bodyOf(response)));
    await expect(read).rejects.toThrow("no data for 0.1 s");
  }
});

test("a response that stalls ends with the reason of the signal", async () => {
  for (const begin of [() => {}, (response: ServerResponse) => response.writeHead(200).write("some")]) {
    const stopping = new AbortController();
    const { url } = await startServer((_, response) => {
      begin(response);
      stopping.abort(new Error("stopped by SIGTERM"));
    });
    const requests = new Requests(createFetch(settings), stopping.signal);
    const read = requests.retry(url, () => requests.send(url, {}, (response) => Array.fromAsync(bodyOf(response))));
    await expect(read).rejects.toThrow("stopped by SIGTERM");
  }
});
