import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  connectTo,
  type Environment,
  main,
  type RunningService,
  root,
  serve,
  serveUntilEnd,
  temporaryFolder,
} from "../support/pds.ts";
import { until } from "../support/until.ts";

interface Line {
  readonly level: number;
  readonly time: number;
  readonly msg: string;
  readonly requestId?: string;
  readonly [key: string]: unknown;
}

const [info, error] = [30, 50];
const environment = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}` };

/**
 * Runs the service, has it asked, and stops it.
 * @returns all that it said on standard error, line by line
 */
async function linesOf(
  ask: (get: RunningService["get"]) => Promise<unknown>,
  more: Environment = {},
): Promise<string[]> {
  await using service = await serve({ ...environment, ...more });
  await ask(service.get);
  await service.stop();
  return service.log().split("\n").slice(0, -1);
}

const parsed = (lines: readonly string[]) => lines.map((line): Line => JSON.parse(line));

describe("the log", () => {
  test("has one line of JSON per event on standard error, with level and time, and none per successful request", async () => {
    const start = Date.now();
    const lines = parsed(
      await linesOf((get) =>
        Promise.all([
          get("/api/v1/histories"),
          get("/api/v1/products/pz/unknown"),
          get("/docs"),
          get("/livez", { method: "HEAD" }),
          get("/livez", { method: "OPTIONS" }),
        ]),
      ),
    );
    expect(lines.map(({ level, msg }) => ({ level, msg }))).toEqual([
      { level: info, msg: "listening" },
      { level: info, msg: "stopping" },
      { level: info, msg: "stopped" },
    ]);
    for (const { time } of lines) {
      expect(time).toBeGreaterThanOrEqual(start);
      expect(time).toBeLessThanOrEqual(Date.now());
    }
  });

  test("holds failed requests with the references of their answers, without their queries", async () => {
    const expected: object[] = [];
    const lines = await linesOf(async (get) => {
      for (const [method, path, status] of [
        ["GET", "/api/v1/products/1", 404],
        ["GET", "/api/v1/products/abc", 400],
        ["GET", "/api/v1/histories/up", 400],
        ["GET", "/api/v1/products/pz/%zz", 400],
        ["POST", "/api/v1/products/1", 405],
        ["GET", "/nothing/here", 404],
      ] as const) {
        const response = await get(`${path}?token=sesame`, { method });
        const requestId = response.headers.get("x-request-id") ?? "";
        const body = (await response.json()) as { error?: string; request_id?: string };
        expect(requestId).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}$/);
        expect(body.request_id ?? body.error).toEndWith(requestId);
        expected.push(expect.objectContaining({ level: info, requestId, method, path, status }));
      }
    });
    expect(parsed(lines).filter(({ requestId }) => requestId !== undefined)).toEqual(expected as Line[]);
    expect(lines.join()).not.toContain("sesame");
  });

  test("has failures of the service with their cause and request reference", async () => {
    const DATABASE_URL = `sqlite:${join(await temporaryFolder(), "pds.sqlite")}`;
    let answers: Response[] = [];
    const lines = await linesOf(
      async (get) => {
        await using sql = await connectTo(DATABASE_URL);
        await sql`DROP TABLE product`;
        await sql`DROP TABLE run`;
        answers = await Promise.all([get("/api/v1/products/1"), get("/api/v1/histories")]);
      },
      { DATABASE_URL },
    );
    const failures = parsed(lines).filter(({ level }) => level === error);
    const references = answers.map(({ headers }) => headers.get("x-request-id") ?? "");
    expect(failures.map(({ requestId }) => requestId).toSorted()).toEqual(references.toSorted());
    for (const { status, err } of failures) {
      expect(status).toBe(503);
      expect(err).toMatchObject({ message: expect.stringContaining("no such table") });
    }
    for (const answer of answers) expect(await answer.text()).not.toContain("no such table");
  });

  test.each(["warn", "error", "fatal", "silent"])(
    "has no lines about mistakes of clients at the level %s",
    async (LOG_LEVEL) => {
      expect(await linesOf((get) => get("/api/v1/products/1"), { LOG_LEVEL })).toEqual([]);
    },
  );

  test("is readable text on a terminal, not JSON", async () => {
    const decoder = new TextDecoder();
    let shown = "";
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const { promise: listening, resolve: listen } = Promise.withResolvers<string>();
    await using child = Bun.spawn([process.execPath, main, "serve"], {
      cwd: root,
      env: { PATH: process.env.PATH, PDS_CONFIG: "/dev/null", PORT: "0", ADMIN_PORT: "0", ...environment },
      terminal: {
        cols: 200,
        data(_, bytes) {
          shown += decoder.decode(bytes, { stream: true });
          const url = shown.match(/^Public +(\S+)\r?\n/m)?.[1];
          if (url !== undefined) listen(url);
        },
        exit: () => {
          end();
          listen("it has ended");
        },
      },
    });
    const response = await fetch(`${await listening}/products/1`, { headers: { "x-request-id": "seen-by-people" } });
    expect(response.status).toBe(404);
    child.kill("SIGTERM");
    await Promise.all([child.exited, ended]);
    child.terminal?.close();
    const lines = Bun.stripANSI(shown).split(/\r?\n/);
    for (const message of ["listening", "Not Found", "stopping", "stopped"]) {
      expect(lines).toContainEqual(
        expect.stringMatching(new RegExp(`^\\[\\d\\d:\\d\\d:\\d\\d\\] INFO.*: ${message}$`)),
      );
    }
    expect(lines).toContainEqual(expect.stringMatching(/^ +requestId: "[\da-f-]{23}"$/));
    expect(lines).toContainEqual(expect.stringMatching(/^ +clientRequestId: "seen-by-people"$/));
    expect(shown).not.toContain('{"level"');
  });
});

describe("the request reference", async () => {
  const service = await serveUntilEnd(environment);

  const fresh = /^[\da-f]{8}(-[\da-f]{4}){3}$/;
  const both = [service.url, service.adminUrl];

  test.each([
    ["GET", "/livez"],
    ["HEAD", "/livez"],
    ["OPTIONS", "/livez"],
    ["POST", "/livez"],
    ["GET", "/nowhere"],
    ["GET", "/api/v1/histories"],
    ["GET", "/api/v1/products/pz/MUG"],
    ["GET", "/api/v1/products/1"],
    ["GET", "/api/v1/products/x"],
    ["GET", "/api/v1/products/%zz"],
    ["OPTIONS", "/api/v1/products/1"],
  ])("is the service's own, never the caller's, in the response to %s %s", async (method, path) => {
    const seen = new Set<string>();
    let failures = 0;
    for (const base of both) {
      for (const headers of [{}, { "X-Request-Id": "from-the-caller" }, { "X-Request-Id": "from-the-caller" }]) {
        const response = await fetch(base + path, { method, headers });
        const reference = response.headers.get("x-request-id");
        if (reference !== null) expect(reference).toMatch(fresh);
        if (response.status >= 400) failures++;
        if (reference !== null) seen.add(reference);
        const text = JSON.stringify([...response.headers]) + (await response.text());
        expect(text).not.toContain("from-the-caller");
        if (response.status >= 400 && method !== "HEAD") expect(text).toContain(`${reference}"}`);
      }
    }
    expect(seen.size).toBeGreaterThanOrEqual(failures);
  });

  test.each([
    ["of one character", "1", true],
    ["with punctuation", "edge:4711/ab_C.d-e@f+g=", true],
    ["of a trace", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true],
    ["of 128 characters", "x".repeat(128), true],
    ["that is empty", "", false],
    ["that is too long", "x".repeat(129), false],
    ["that is far too long", "x".repeat(4000), false],
    ["with a space", "a b", false],
    ["with a tab", "a\tb", false],
    ["with a delete character", "a\x7Fb", false],
    ["of Latin-1", "é", false],
    ["of UTF-8", Buffer.from("日本").toString("latin1"), false],
    ["that would close a text", 'a"b', false],
    ["of markup", "<b>", false],
    ["of two", "a,b", false],
    ["of a template", "{a}", false],
  ])("of a client is logged beside the service's if it is safe: one %s", async (_, incoming, isLogged) => {
    const response = await service.get("/nowhere", { headers: { "x-request-id": incoming } });
    const requestId = response.headers.get("x-request-id") ?? "";
    await until("the failure is logged", () => service.log().includes(requestId));
    const line = parsed(service.log().split("\n").slice(0, -1)).find((each) => each.requestId === requestId);
    expect(line).toMatchObject({ requestId });
    expect(line?.clientRequestId).toBe(isLogged ? incoming : undefined);
  });
});
