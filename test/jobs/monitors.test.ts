import { describe, expect, test } from "bun:test";
import pino from "pino";
import { createLog } from "../../src/base/log.ts";
import { createFetch } from "../../src/base/outgoing.ts";
import { LogTail } from "../../src/jobs/log-tail.ts";
import { describeEnd } from "../../src/jobs/monitor-message.ts";
import { Monitors } from "../../src/jobs/monitors.ts";
import type { Run } from "../../src/jobs/run.ts";
import { createStore, pds, temporaryFolder, writeFiles } from "../support/pds.ts";
import { startServer } from "../support/server.ts";

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

const calls: Call[] = [];
const monitor = startServer(async (request) => {
  const path = new URL(request.url).pathname;
  if (path === "/redirect") return Response.redirect("http://169.254.169.254/token", 307);
  calls.push({ method: request.method, path, body: await request.text() });
  return new Response(null, { status: path.startsWith("/old") && request.method !== "GET" ? 404 : 200 });
});

describe("a monitor", () => {
  const secret = "shpat_0123456789";

  test("gets the run, its reason, and its last lines, without secrets", async () => {
    const folder = await temporaryFolder();
    const broken = Array.from({ length: 30 }, (_, index) => `{"id":${index + 1}}`).join("\n");
    const [products = ""] = await writeFiles(folder, { [`${secret}.ndjson`]: broken });
    const [PDS_CONFIG = ""] = await writeFiles(folder, {
      "pds.toml": `
        brand = "acme"
        [jobs.catalog-import]
        source = ["${products}"]
        ping = "${monitor}/new"
        [jobs.personalization-import]
        source = "https://127.0.0.1:9/"
        ping = { failure = "${monitor}/url" }
        [jobs.history-retention]
        ping = "${monitor}/old"`,
    });
    const DATABASE_URL = await createStore("sqlite");
    const environment = { DATABASE_URL, PDS_CONFIG, SHOPIFY_ACCESS_TOKEN: secret, SHOP_DOMAIN: "shop.example" };
    for (const job of ["catalog-import", "personalization-import", "history-retention"]) {
      await pds(["run", job], environment);
    }
    expect(JSON.stringify(calls)).not.toContain(secret);
    const [start, failure] = calls.filter(({ path }) => path.startsWith("/new"));
    const facts = "run: 1\njob: catalog-import\nbrand: acme\n";
    expect(start).toEqual({ method: "POST", path: "/new/start", body: facts });
    expect(failure).toMatchObject({ method: "POST", path: "/new/fail" });
    const [head = "", tail = ""] = failure?.body.split("\nlast lines:\n") ?? [];
    expect(head).toStartWith(`${facts}outcome: failed\nreason: `);
    expect(head).toMatch(/hidden\.ndjson:1: .*; 30 of 30 were rejected.*\nattempt: 1\nstarted: 20.*\ncounts: 0\n$/s);
    expect(tail.split("\n").length).toBe(20);
    expect(tail).toContain("hidden.ndjson:");
    expect(calls.find(({ path }) => path === "/url")?.body).toContain("outcome: failed");
    // This one does not accept POST.
    const old = calls.filter(({ path }) => path.startsWith("/old"));
    expect(old.map(({ method, path }) => `${method} ${path}`)).toEqual([
      ...["POST /old/start", "GET /old/start", "POST /old", "GET /old"],
    ]);
    expect(old[2]?.body).toMatch(/outcome: succeeded\n.*counts: 0\n$/s);
  });

  test("is not notified at a metadata address, also when another one redirects there", async () => {
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const monitors = new Monitors(log, [], createFetch());
    await Promise.all(
      ["http://169.254.169.254/token", `${monitor}/redirect`].map((url) => monitors.notify(url, "run: 1")),
    );
    const refusal = expect.stringMatching(/^cannot notify the monitor: 169\.254\.169\.254 is a link-local/);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([refusal, refusal]);
    expect(lines.join()).not.toContain("token");
  });

  const job = { name: "catalog-sync", brand: "acme", source: "", work: async () => {} };
  const run: Run = {
    ...{ id: 7, job: job.name, brand: job.brand, scheduledAt: null, attempt: 1, leaseUntil: "", counts: 0 },
    ...{ startedAt: "2026-03-01T04:15:00.112Z", finishedAt: "2026-03-01T04:15:01.112Z", outcome: "failed" },
    ...{ reason: "no reason", log: null, cancelled: null, isFirst: 0 },
  };
  const end = { exit: "its process exited with status 1", log: "the last line" };
  const asIs = (text: string) => text;

  test.each([
    ["many lines", `${"é".repeat(50)}\n`.repeat(200)],
    ["one long line", "é".repeat(20_000)],
  ])("gets the end of a log of %s, and no more than it keeps", (_, log) => {
    const message = describeEnd(job, 7, { ...run, reason: "é\n".repeat(9000), log: `${log}end` }, end, asIs);
    expect(Buffer.byteLength(message)).toBeWithin(9800, 10_001);
    expect(message).toEndWith("éend".slice(log.endsWith("\n") ? 1 : 0));
    expect(message).not.toContain("\uFFFD");
    const [, tail = ""] = message.split("\nlast lines:\n");
    if (log.endsWith("\n")) expect(tail.split("\n")[0]).toHaveLength(50);
  });

  test("gets no credentials of URLs", async () => {
    const monitors = new Monitors(await createLog("silent"), ["sesame"], createFetch());
    const leaking = { ...run, reason: "no https://me:pw1@host/?key=pw2; sesame" };
    const message = describeEnd(job, 7, leaking, end, monitors.hide);
    expect(message).toContain("reason: no https://hidden@host/?key=hidden; hidden\n");
  });

  const since = "2026-03-01T02:15:01.112Z";
  test.each([
    ["the first run that failed says nothing of others", { startedAt: since }, "\ncounts: 0\n"],
    ["another one says since when", {}, `\ncounts: 0\nfailing since: ${since}\n`],
    [
      "one that succeeded says for how long others had failed",
      { outcome: "succeeded", reason: null },
      `\ncounts: 0\nhad failed since: ${since}\nit lasted: 2 hours\n`,
    ],
  ] as const)("gets how long a job has failed: %s", (_, changes, expected) => {
    expect(describeEnd(job, 7, { ...run, ...changes }, end, asIs, since)).toEndWith(expected);
  });

  test("gets what is known of a run whose end the store did not take", () => {
    expect(describeEnd(job, 7, undefined, end, asIs)).toBe(
      "run: 7\njob: catalog-sync\nbrand: acme\noutcome: unknown\n" +
        "reason: the store is unreachable, so its end could not be recorded; its process exited with status 1\n" +
        "\nlast lines:\nthe last line",
    );
  });
});

test("the last lines of a log do not begin in the middle of a line, where credentials are not recognized", () => {
  const tail = new LogTail();
  for (let index = 0; index < 12; index++) tail.add(Buffer.from(`https://user:${"secret".repeat(150)}@host/\n`));
  expect(tail.text()).toStartWith("https://");
});
