import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SQL } from "bun";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { beginAudit, endAudit, findAudit } from "../../src/operators/audit.ts";
import { toLocalPath } from "../../src/operators/sign-in.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { Operator, tokenLines } from "../support/operator.ts";
import { connectTo, createStore, enginesOf, pds, type RunningService, serve, temporaryFolder } from "../support/pds.ts";
import { until } from "../support/until.ts";

test.each([
  [null, "/"],
  ["", "/"],
  ["/runs?job=a&before=3", "/runs?job=a&before=3"],
  ["/sign-in", "/"],
  ["runs", "/runs"],
  ["//evil.example/", "/"],
  ["/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["/.//evil.example", "/"],
  ["https://evil.example/", "/"],
  ["javascript:alert(1)", "/"],
  ["http://[", "/"],
])("after signing in, %j leads to %j", (next, path) => {
  expect(toLocalPath(next)).toBe(path);
});

const tokens = {
  ...{ ann: "pds_ann-may-operate", vic: "pds_vic-may-view", admin: "correct-horse-battery" },
  // In one test only: few refusals per minute of an operator are recorded.
  ...{ amy: "pds_amy-may-operate", val: "pds_val-may-view" },
};

const stores = await Promise.all(
  enginesOf("sqlite").map(async (engine) => ({
    engine,
    url: await createStore(engine),
    home: await temporaryFolder(),
  })),
);

describe.each(stores)("on $engine, operators", ({ engine, url, home }) => {
  let service: RunningService;
  let sql: SQL;
  let clients = 0;
  const environment = {
    PDS_CONFIG: join(home, "pds.toml"),
    DATABASE_URL: url,
    ADMIN_TOKEN: tokens.admin,
    TRUSTED_PROXIES: "127.0.0.1,::1",
  };

  const settings = (lines: string) =>
    `brand = "acme"
${lines}
[jobs.personalization-import]
source = "${join(home, "feed")}"
[jobs.history-retention]
keep_days = 30
`;
  const otherTokens = tokenLines("amy", "operate", tokens.amy) + tokenLines("val", "view", tokens.val);
  const allTokens = tokenLines("ann", "operate", tokens.ann) + tokenLines("vic", "view", tokens.vic) + otherTokens;
  /** Someone at an address of their own, so that the wrong tokens of others do not count. */
  const someone = (headers: Record<string, string> = {}) =>
    new Operator(service.adminUrl, { "x-forwarded-for": `192.0.2.${++clients}`, ...headers });
  const signedIn = async (token: string) => {
    const operator = someone();
    expect(await operator.signIn(token)).toBe(303);
    return operator;
  };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const basic = (token: string) => ({ authorization: `Basic ${btoa(`any:${token}`)}` });
  const job = { job: "history-retention", brand: "acme" };
  const pauses = async () =>
    (await sql<{ by: string }[]>`SELECT paused_by AS by FROM job_pause WHERE resumed_at IS NULL`).map(({ by }) => by);
  type Recorded = { id: number; operator: string; client: string; action: string; outcome: string; result: string };
  const actionsOf = async (): Promise<Recorded[]> => [
    ...(await sql<Recorded[]>`
      SELECT id, operator, client, action, outcome, result FROM audit_record
      WHERE action NOT LIKE 'sign-%' AND outcome <> 'refused' ORDER BY id`),
  ];
  type Refused = { operator: string; action: string; subject: string; result: string };
  const refusals = async (): Promise<Refused[]> => [
    ...(await sql<Refused[]>`
      SELECT operator, action, subject, result FROM audit_record WHERE outcome = 'refused' ORDER BY id`),
  ];
  /** The hidden fields of a form. */
  const fieldsOf = (html: string) =>
    Object.fromEntries(
      [...html.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    ) as Record<string, string>;
  const stored = async (brand: string) =>
    (await sql<{ id: number }[]>`SELECT id FROM generation WHERE brand = ${brand}`).map(({ id }) => id);
  const generations = async (brand: string) =>
    (await sql<{ id: number }[]>`SELECT generation AS id FROM current_generation WHERE brand = ${brand}`).map(
      ({ id }) => id,
    );
  const importWith = async (choice: string, brand: string) => {
    const pzchoices = feedFiles["pzchoices.csv"].replace("Serif", choice);
    const feed = await writeFeed(home, choice, { ...feedFiles, "pzchoices.csv": pzchoices });
    const imported = await importHere(["import", "personalization", feed], { DATABASE_URL: url, BRAND: brand });
    expect(imported).toMatchObject({ code: 0 });
  };

  beforeAll(async () => {
    await writeFile(join(home, "pds.toml"), settings(allTokens));
    await writeFeed(home, "feed");
    service = await serve(environment);
    sql = await connectTo(url);
    const ended = () => sql`SELECT 1 FROM run WHERE job = 'history-retention' AND outcome = 'succeeded'`;
    await until("the first run has ended", async () => (await ended()).length > 0);
  });
  afterAll(async () => {
    await sql.close();
    await service.stop();
  });

  test("may act only with the role operate, whatever they send", async () => {
    const [amy, val] = await Promise.all([signedIn(tokens.amy), signedIn(tokens.val)]);
    const [known, knownRefusals] = [await actionsOf(), await refusals()];
    const copy = (of: Operator, formToken: string, cookie = of.cookie) =>
      Object.assign(someone(), { cookie, formToken });
    const attempts: [about: string, who: Operator, status: number, headers?: Record<string, string>, path?: string][] =
      [
        ["nobody", someone(), 401],
        ["a wrong token", someone(bearer("pds_wrong")), 401],
        ["the form token without the session", copy(amy, amy.formToken, ""), 401],
        ["an invented session", copy(amy, amy.formToken, `pds_session=${"A".repeat(43)}`), 401],
        ["the role view as a bearer", someone(bearer(tokens.val)), 403],
        ["the role view in a session", val, 403],
        ["the role view, which claims another", val, 403, { "x-role": "operate" }],
        ["the role view in a session, the right password", val, 403, basic(tokens.amy)],
        ["a password of the role operate", someone(basic(tokens.amy)), 403],
        ["the admin token as a password", someone(basic(tokens.admin)), 403],
        ["no form token", copy(amy, ""), 403],
        ["the form token of another session", copy(amy, val.formToken), 403],
        ["a page of another site", amy, 403, { "sec-fetch-site": "cross-site" }],
        ["a page of another port", amy, 403, { "sec-fetch-site": "same-site", origin: service.url }],
        ["an older browser on a page of another port", amy, 403, { origin: service.url }],
        ["a frame without an origin", amy, 403, { origin: "null" }],
        ["a link to the form", amy, 403, { "sec-fetch-site": "none" }],
        ["a bearer from a page of another site", someone(bearer(tokens.amy)), 403, { origin: "https://evil.example" }],
        ["a body that is no form", amy, 400, { "content-type": "application/json" }],
        ["an unknown action", amy, 404, {}, "/actions/constructor"],
      ];
    for (const [about, who, status, headers, path = "/actions/pause"] of attempts) {
      const response = await who.post(path, { ...job, role: "operate" }, headers);
      expect([about, response.status]).toEqual([about, status]);
      expect([about, await pauses()]).toEqual([about, []]);
    }
    // To look changes nothing, and says what would happen.
    expect((await amy.get(`/actions/pause?${new URLSearchParams(job)}`)).html).toContain("No replica starts");
    expect((await val.get("/actions")).html).toContain("val has read-only access.");
    expect((await amy.get("/actions")).html).toContain(">Run now<");
    expect(await pauses()).toEqual([]);
    expect(await actionsOf()).toEqual(known);
    // Those who are known are in the audit, up to five times per minute.
    const refused = (await refusals()).slice(knownRefusals.length);
    const because = (operator: string) => refused.find((each) => each.operator === operator)?.result;
    expect(because("val")).toStartWith("This needs a token with the role operate");
    expect(because("amy")).toStartWith("This needs a token with the role operate");
    expect(because("ADMIN_TOKEN")).toStartWith("This needs a token with the role operate");
    expect(refused.filter(({ action }) => action !== "pause")).toEqual([]);
    // Also of a text that not every engine stores.
    const strange = { job: "pause\0", brand: "acme", token: "secret" };
    expect((await someone(bearer(tokens.admin)).post("/actions/pause", strange)).status).toBe(400);
    expect((await refusals()).at(-1)).toEqual({
      operator: "ADMIN_TOKEN",
      action: "pause",
      subject: "job=pause, brand=acme",
      result: "The parameter job contains a zero character.",
    });

    // The same requests with what they lacked.
    for (const who of [amy, someone(bearer(tokens.amy)), someone(bearer(tokens.admin))]) {
      expect((await who.post("/actions/pause", job, { "sec-fetch-site": "same-origin" })).status).toBe(303);
      expect((await who.post("/actions/pause", job)).status).toBe(409);
      expect(await pauses()).toHaveLength(1);
      expect((await who.post("/actions/resume", job)).status).toBe(303);
    }
    expect(
      (await actionsOf()).slice(known.length).map(({ operator, action, outcome }) => [operator, action, outcome]),
    ).toEqual(
      ["amy", "amy", "ADMIN_TOKEN"].flatMap((name) => [
        [name, "pause", "done"],
        [name, "resume", "done"],
      ]),
    );
  });

  test("get a new session whenever they sign in, which nobody else can know or keep", async () => {
    const fixed = `pds_session=${"F".repeat(43)}`;
    const ann = Object.assign(someone(), { cookie: fixed });
    expect(await ann.signIn(tokens.ann)).toBe(303);
    expect(ann.cookie).not.toBe(fixed);
    expect((await Object.assign(someone(), { cookie: fixed }).get("/")).status).toBe(401);

    // Signing in again ends the session before, which somebody may have copied.
    const copied = Object.assign(someone(), { cookie: ann.cookie });
    expect((await copied.get("/")).status).toBe(200);
    expect(await ann.signIn(tokens.ann)).toBe(303);
    expect((await copied.get("/")).status).toBe(401);

    const stored = JSON.stringify(await sql`SELECT * FROM operator_session`);
    for (const secret of [ann.cookie?.split("=")[1] ?? "", ann.formToken, tokens.ann])
      expect(stored).not.toContain(secret);

    // A form of another session cannot end this one.
    expect((await ann.post("/sign-out", { form_token: "x" })).status).toBe(403);
    const out = await ann.post("/sign-out");
    expect([out.status, out.headers.get("location")]).toEqual([303, "/sign-in"]);
    expect(out.headers.get("set-cookie")).toStartWith("pds_session=; Path=/; Max-Age=0;");
    expect((await ann.get("/")).status).toBe(401);

    // A browser that signed in by another address of the host too has two sessions, and ends both.
    const secure = someone();
    expect(await secure.signIn(tokens.ann, { origin: "https://pds.example", "sec-fetch-site": "same-origin" })).toBe(
      303,
    );
    const plain = await signedIn(tokens.ann);
    const both = Object.assign(someone(), { cookie: `${secure.cookie}; ${plain.cookie}`, formToken: secure.formToken });
    expect((await both.post("/sign-out")).status).toBe(303);
    expect([(await secure.get("/")).status, (await plain.get("/")).status]).toEqual([401, 401]);
  });

  test("have a cookie that scripts and other sites cannot use, and behind TLS other hosts cannot set", async () => {
    const cookieOf = async (origin: string) => {
      const headers = { origin, "sec-fetch-site": "same-origin" };
      const response = await someone().post("/sign-in", { token: ` ${tokens.ann}\n`, next: "//evil.example" }, headers);
      expect([response.status, response.headers.get("location")]).toEqual([303, "/"]);
      return response.headers.get("set-cookie");
    };
    const rest = "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict";
    expect(await cookieOf(service.adminUrl)).toMatch(new RegExp(`^pds_session=[\\w-]{43}; ${rest}$`));
    const secure = await cookieOf("https://pds.example");
    expect(secure).toMatch(new RegExp(`^__Host-pds_session=[\\w-]{43}; ${rest}; Secure$`));
    // One that another host of the domain sets does not count beside it.
    const cookie = `pds_session=${"A".repeat(43)}; ${secure?.split(";")[0]}`;
    expect((await Object.assign(someone(), { cookie }).get("/")).status).toBe(200);
    // Another site cannot sign a browser in.
    const foreign = await someone().post("/sign-in", { token: tokens.ann }, { origin: "https://evil.example" });
    expect([foreign.status, foreign.headers.get("set-cookie")]).toEqual([403, null]);
  });

  test("lose their sessions when these expire, and where their token is not valid", async () => {
    const [ann, vic] = await Promise.all([signedIn(tokens.ann), signedIn(tokens.vic)]);
    await sql`UPDATE operator_session SET expires_at = '2026-01-01T00:00:00.000Z' WHERE operator = 'ann'`;
    expect([(await ann.get("/")).status, (await vic.get("/")).status]).toEqual([401, 200]);
    // Vic gets another token, and Ann another role.
    const changed = tokenLines("ann", "view", tokens.ann) + tokenLines("vic", "operate", "pds_vic-has-another");
    const again = await signedIn(tokens.ann);
    const PDS_CONFIG = join(home, "changed.toml");
    await writeFile(PDS_CONFIG, settings(changed));
    await using restarted = await serve({ ...environment, PDS_CONFIG, SCHEDULER: "off" });
    const there = ({ cookie, formToken }: Operator) =>
      Object.assign(new Operator(restarted.adminUrl), { cookie, formToken });
    expect((await there(vic).get("/")).status).toBe(401);
    expect((await there(again).get("/")).status).toBe(200);
    expect((await there(again).post("/actions/pause", job)).status).toBe(403);
    await until("the session has ended everywhere", async () => (await vic.get("/")).status === 401);
    expect(await pauses()).toEqual([]);
  });

  test("lose their sessions for good when their token is withdrawn, though nobody used them meanwhile", async () => {
    const vic = await signedIn(tokens.vic);
    const PDS_CONFIG = join(home, "without.toml");
    await writeFile(PDS_CONFIG, settings(tokenLines("ann", "operate", tokens.ann)));
    await using without = await serve({ ...environment, PDS_CONFIG, SCHEDULER: "off" });
    expect((await fetch(`${without.adminUrl}/sign-in`)).status).toBe(200);
    await until("the session has ended", async () => (await vic.get("/")).status === 401);
  });

  test("cannot guess tokens, and guesses of others do not end their sessions", async () => {
    const from = { "x-forwarded-for": "198.51.100.7" };
    const ann = Object.assign(new Operator(service.adminUrl, from), { cookie: (await signedIn(tokens.ann)).cookie });
    const guesser = new Operator(service.adminUrl, from);
    const statuses: number[] = [];
    // The allowance grows meanwhile.
    await until("the network is locked out", async () => {
      statuses.push(await guesser.signIn("pds_guess"));
      return statuses.at(-1) === 429;
    });
    expect(statuses.length).toBeGreaterThan(10);
    expect(statuses.filter((status) => status !== 429 && status !== 401)).toEqual([]);
    expect(guesser.cookie).toBeUndefined();
    await until("the log says from where", async () =>
      /"network":"198\.51\.100\.7","msg":"wrong token/.test(service.log()),
    );
    expect((await ann.get("/")).status).toBe(200);
    expect(await someone().signIn(tokens.ann)).toBe(303);
  });

  test("leave a record of each action, which no request can change", async () => {
    const ann = await signedIn(tokens.ann);
    const known = await actionsOf();
    // The address that a client claims does not count, only what the proxy adds.
    const claimed = { "x-forwarded-for": "203.0.113.9, 198.51.100.1" };
    expect((await ann.post("/actions/pause", job, claimed)).status).toBe(303);
    expect((await ann.post("/actions/resume", { ...job, operator: "vic" }, claimed)).status).toBe(400);
    expect((await ann.post("/actions/resume", job, claimed)).status).toBe(303);
    const records = (await actionsOf()).slice(known.length);
    expect(records.map(({ operator, client, action, result }) => [operator, client, action, result])).toEqual([
      ["ann", "198.51.100.1", "pause", "paused"],
      ["ann", "198.51.100.1", "resume", "resumed"],
    ]);
    const id = records[0]?.id;
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      for (const path of ["/audit", `/audit/${id}`, "/actions/audit", "/actions/remove-audit"]) {
        const headers = { ...bearer(tokens.ann), "content-type": "application/x-www-form-urlencoded" };
        const { status } = await fetch(service.adminUrl + path, { method, body: `id=${id}`, headers });
        const expected = path.startsWith("/audit") || method !== "POST" ? 405 : 404;
        expect([method, path, status]).toEqual([method, path, expected]);
      }
    }
    expect((await actionsOf()).slice(known.length)).toEqual(records);
    const { html } = await ann.get("/audit");
    expect(html).toContain(`<a href="/audit/${id}">`);
    expect((await ann.get(`/audit/${id}`)).html).toContain("history-retention for acme");

    const database = await openDatabase(url);
    const hostile = { operator: "ann", client: "::1", action: "x", subject: '<script>"\n' };
    const record = await beginAudit(database, hostile);
    await endAudit(database, record, { outcome: "refused", result: "<img src=x onerror=alert(1)>" });
    await endAudit(database, record, { outcome: "done", result: "another" });
    expect(await findAudit(database, record)).toMatchObject({ ...hostile, outcome: "refused" });
    await closeDatabase(database);
    const shown = (await ann.get(`/audit/${record}`)).html;
    expect(shown).not.toContain('<script>"');
    expect(shown).not.toContain("<img");
  });

  test("roll back once, however often they send the form", async () => {
    const ann = await signedIn(tokens.ann);
    for (const choice of ["Serif", "Script", "Block"]) await importWith(choice, "rolled");
    const [generation] = await generations("rolled");
    const oldest = Math.min(...(await stored("rolled")));
    const versions = await ann.get("/personalization/versions?brand=rolled");
    const link = `/actions/rollback?brand=rolled&to=${oldest}`;
    expect(versions.html).toContain(`href="${link.replace("&", "&amp;")}"`);
    expect(versions.html).not.toContain(`rolled&amp;to=${generation}"`);
    expect((await ann.get(link)).html).toContain(`Make generation ${oldest} current`);
    expect((await (await signedIn(tokens.vic)).get("/personalization/versions?brand=rolled")).html).not.toContain(
      "Roll back to",
    );
    const fields = fieldsOf((await ann.get("/actions/rollback?brand=rolled")).html);
    expect(Number(fields.from)).toBe(generation as number);
    const sent = await Promise.all([1, 2, 3].map(() => ann.post("/actions/rollback", fields)));
    expect(sent.map(({ status }) => status).toSorted()).toEqual([303, 409, 409]);
    expect(await generations("rolled")).toEqual([Number(fields.to)]);
    // A late one, too.
    expect((await ann.post("/actions/rollback", fields)).status).toBe(409);
    // There are presentations of other brands only.
    await sql`INSERT INTO presentation (brand, loaded_at, since, entries, feed, document)
      VALUES ('names', '2026-01-01T00:00:00.000Z', NULL, 0, '{}', '[]')`;
    const [{ id: earlier }] = (await sql`SELECT id FROM presentation`) as [{ id: number }];
    await sql`INSERT INTO presentation (brand, loaded_at, since, previous, entries, feed, document)
      VALUES ('names', '2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z', ${earlier}, 0, '{}', '[]')`;
    const current = async () => (await sql`SELECT id FROM presentation WHERE since IS NOT NULL`)[0]?.id;
    const before = await current();
    expect((await ann.get("/personalization/versions?brand=names")).html).toContain(
      `href="/actions/rollback-presentation?brand=names&amp;to=${earlier}">Roll back to presentation ${earlier}<`,
    );
    expect((await ann.post("/actions/rollback-presentation", { brand: "rolled" })).status).toBe(409);
    expect((await ann.post("/actions/rollback-presentation", { brand: "names" })).status).toBe(303);
    expect(await current()).toBe(earlier);
    const form = { brand: "names", from: `${before}`, to: `${earlier}` };
    expect((await ann.post("/actions/rollback-presentation", form)).status).toBe(409);
    expect((await ann.post("/actions/rollback", { brand: "rolled", to: "999" })).status).toBe(409);
    expect((await ann.post("/actions/rollback", { brand: "rolled", to: "1e3" })).status).toBe(400);
    expect(await generations("rolled")).toEqual([Number(fields.to)]);
    // A misspelled parameter is not ignored.
    expect((await ann.post("/actions/rollback", { brand: "rolled", too: `${generation}` })).status).toBe(400);
    expect(await generations("rolled")).toEqual([Number(fields.to)]);

    // Two operators have the same page, and choose differently: one of them wins, and the audit says which.
    const from = fields.to as string;
    const others = (await stored("rolled")).filter((id) => id !== Number(from));
    const known = (await actionsOf()).length;
    const admin = someone(bearer(tokens.admin));
    const chosen = await Promise.all(
      others.map((id) => admin.post("/actions/rollback", { brand: "rolled", from, to: `${id}` })),
    );
    expect(chosen.map(({ status }) => status).toSorted()).toEqual([303, 409]);
    const [chosenOne] = await generations("rolled");
    expect((await actionsOf()).slice(known).map(({ outcome, result }) => [outcome, result])).toEqual([
      ["done", `made generation ${chosenOne} current instead of ${from}`],
    ]);
  });

  test("roll back twice, and never to what they rolled back from", async () => {
    const ann = await signedIn(tokens.ann);
    for (const choice of ["Serif", "Script", "Block"]) await importWith(choice, "twice");
    const rows = (table: string) =>
      sql<{ id: number }[]>`SELECT id FROM ${sql(table)} WHERE brand = 'twice' ORDER BY id DESC`;
    const ids = (await rows("generation")).map(({ id }) => id);
    for (const [index, next] of ids.slice(1).entries()) {
      const { html } = await ann.get("/actions/rollback?brand=twice");
      expect(html).toContain(`Make generation ${next} current`);
      expect((await ann.post("/actions/rollback", fieldsOf(html))).status).toBe(303);
      expect([index, await generations("twice")]).toEqual([index, [next]]);
    }
    expect((await ann.get("/actions/rollback?brand=twice")).status).toBe(409);

    let previous: number | null = null;
    for (const since of [null, null, "2026-01-02T00:00:00.000Z"]) {
      await sql`INSERT INTO presentation (brand, loaded_at, since, previous, entries, feed, document)
        VALUES ('twice', '2026-01-02T00:00:00.000Z', ${since}, ${previous}, 0, '{}', '[]')`;
      previous = (await rows("presentation"))[0]?.id ?? null;
    }
    for (const { id } of (await rows("presentation")).slice(1)) {
      const fields = fieldsOf((await ann.get("/actions/rollback-presentation?brand=twice")).html);
      expect(Number(fields.to)).toBe(id);
      expect((await ann.post("/actions/rollback-presentation", fields)).status).toBe(303);
    }
    expect((await ann.get("/actions/rollback-presentation?brand=twice")).status).toBe(409);
  });

  test("run a job now, and not twice", async () => {
    const ann = await signedIn(tokens.ann);
    const record = { operator: "ann", client: "::1", subject: "", outcome: "done" };
    const old = { ...record, begun_at: "2020-01-01T00:00:00.000Z", action: "old" };
    const recent = { ...record, begun_at: new Date().toISOString(), action: "recent" };
    await sql`INSERT INTO audit_record ${sql([old, recent])}`;
    const form = fieldsOf((await ann.get(`/actions/run?${new URLSearchParams(job)}`)).html);
    // Another action's parameter does not turn this one into it.
    expect((await ann.post("/actions/run", { ...form, "dry-run": "1" })).status).toBe(400);
    const response = await ann.post("/actions/run", form);
    expect(response.status).toBe(303);
    const id = Number(response.headers.get("location")?.match(/^\/runs\/(\d+)$/)?.[1]);
    await until("the run has succeeded", async () => {
      const [run] = await sql<{ outcome: string | null }[]>`SELECT outcome FROM run WHERE id = ${id}`;
      return run?.outcome === "succeeded";
    });
    // Once it has ended, the same form starts no other.
    const late = await ann.post("/actions/run", form);
    expect([late.status, await late.text()]).toEqual([409, expect.stringContaining(`Run ${id} of history-retention`)]);
    // This job removes records with the runs of their time.
    const names = (await actionsOf()).map(({ action }) => action);
    expect([names.includes("old"), names.includes("recent"), names.includes("run")]).toEqual([false, true, true]);
    // As if it ran elsewhere.
    await sql`INSERT INTO run (job, brand, started_at, lease_until, lease_seconds)
      VALUES ('history-retention', 'acme', '2026-01-01T00:00:00.000Z', '9999', 3600)`;
    const [running] = await sql<{ id: number }[]>`SELECT max(id) AS id FROM run`;
    for (const [action, fields] of [
      ["run", job],
      ["retry", { run: `${running?.id}` }],
      ["dry-run", job],
      ["force", job],
      ["cancel", { run: `${id}` }],
      ["run", { ...job, brand: "another" }],
      ["retry-matching", { outcome: "failed" }],
    ] as const) {
      expect([action, (await ann.post(`/actions/${action}`, fields)).status]).toEqual([action, 409]);
    }
    expect((await ann.post("/actions/retry-matching", { outcome: "faild" })).status).toBe(400);
    expect((await ann.post("/actions/retry", { run: `${id}` })).status).toBe(409);
    const runPage = `/runs/${running?.id}`;
    expect((await ann.get(runPage)).html).toContain(">Cancel this run<");
    const cancels = await Promise.all([1, 2].map(() => ann.post("/actions/cancel", { run: `${running?.id}` })));
    // The second is refused unless both were checked before either was done.
    expect(cancels.map(({ status }) => status)).toContain(303);
    // Until its supervisor notices, nobody should think that nothing happened.
    const ending = (await ann.get(runPage)).html;
    expect(ending).toContain("running</span>, cancelled by ann: it ends within seconds");
    expect(ending).not.toContain(">Cancel this run<");
    const listed = (await ann.get("/actions")).html;
    expect(listed).toContain(", cancelled by ann</span>");
    expect(listed).not.toContain("/actions/cancel");
    const again = await ann.post("/actions/cancel", { run: `${running?.id}` });
    expect([again.status, await again.text()]).toEqual([409, expect.stringContaining("already cancelled by ann")]);
    const [cancelled] = await sql<{ cancelled: string }[]>`SELECT cancelled FROM run WHERE id = ${running?.id}`;
    expect(cancelled?.cancelled).toBe("cancelled by ann");
    await sql`DELETE FROM run WHERE id = ${running?.id}`;

    await sql`INSERT INTO run (job, brand, started_at, finished_at, outcome)
      VALUES ('history-retention', 'acme', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.000Z', 'failed')`;
    const { runs = "" } = fieldsOf((await ann.get("/actions/retry-matching?outcome=failed")).html);
    expect(runs).toMatch(/^\d+$/);
    // The page of runs can filter by text. The action cannot, and does not retry all instead.
    for (const [fields, status] of [
      [{ outcome: "failed", text: "nothing has this" }, 400],
      [{ outcome: "failed", runs: `1-${runs}` }, 409],
    ] as const) {
      expect((await ann.post("/actions/retry-matching", fields)).status).toBe(status);
    }
    await sql`DELETE FROM run WHERE id = ${Number(runs)}`;
  });

  test("see no internals when an action fails, which the audit and the log say", async () => {
    if (engine === "sqlite") {
      await sql.unsafe("CREATE TRIGGER broken BEFORE INSERT ON job_pause BEGIN SELECT RAISE(ABORT, 'inside'); END");
    } else {
      await sql.unsafe(`CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'inside'; END $$`);
      await sql.unsafe("CREATE TRIGGER broken BEFORE INSERT ON job_pause FOR EACH ROW EXECUTE FUNCTION broken()");
    }
    const response = await (await signedIn(tokens.ann)).post("/actions/pause", job);
    await sql.unsafe(`DROP TRIGGER broken${engine === "sqlite" ? "" : " ON job_pause"}`);
    const said = await response.text();
    expect(response.status).toBe(409);
    expect(said).toContain("An internal error occurred");
    expect(said).not.toContain("inside");
    const [record] = (await actionsOf()).slice(-1);
    expect(record?.outcome).toBe("failed");
    expect(record?.result).not.toContain("inside");
    await until("the log has the error", async () => /"inside".*"an operator action failed"/.test(service.log()));
  });

  if (engine === "sqlite") {
    test("do not act on a file that was moved away", async () => {
      const ann = someone(bearer(tokens.ann));
      const file = url.replace("sqlite:", "");
      await rename(file, `${file}.moved`);
      // The service looks ten times a second.
      await until("the service has noticed", async () => (await someone().signIn(tokens.vic)) === 503);
      const known = await actionsOf();
      expect((await ann.post("/actions/run", job)).status).toBe(503);
      expect((await ann.post("/actions/pause", job)).status).toBe(503);
      expect([await actionsOf(), await pauses()]).toEqual([known, []]);
      await rename(`${file}.moved`, file);
      await until("the file is back", async () => (await ann.get("/audit")).status === 200);
    });
  }

  test("export the audit as it is recorded, and as no formula", async () => {
    const vic = await signedIn(tokens.vic);
    const long = `=1+1\n${"x".repeat(300)}`;
    const begun = {
      begun_at: "2026-07-01T08:00:00.000Z",
      operator: "ann",
      client: "::1",
      action: "run",
      subject: long,
    };
    await sql`INSERT INTO audit_record ${sql(begun)}`;
    const { html } = await vic.get("/audit");
    // The script adds the reader's time to it.
    expect(html).toMatch(/<time [^>]*datetime="2026-07-01T08:00:00\.000Z">2026-07-01 08:00:00 UTC</);
    const [head, first] = (await vic.get("/audit?format=csv")).html.split("\r\n");
    expect(head).toBe("Record,When,Operator,From,Action,Subject,Outcome,Result");
    expect(first).toMatch(/^\d+,2026-07-01T08:00:00\.000Z,ann,::1,run,"'=1\+1\nx{300}",not known yet,$/);
    await sql`DELETE FROM audit_record WHERE begun_at = ${begun.begun_at}`;
  });

  test("see what one of them did, also on the command line", async () => {
    const ann = await signedIn(tokens.ann);
    for (const command of ["pause", "resume"]) {
      expect(await pds([command, "history-retention"], environment)).toMatchObject({ code: 0 });
    }
    const [{ operator }] = (await sql`SELECT operator FROM audit_record ORDER BY id DESC LIMIT 1`) as [Recorded];
    const page = `/audit?${new URLSearchParams({ operator })}`;
    expect((await ann.get("/audit")).html).toContain(`<a href="${page.replaceAll("&", "&amp;")}">${operator}</a>`);
    const [, ...rows] = (await ann.get(`${page}&format=csv`)).html.trimEnd().split("\r\n");
    expect(rows.map((row) => row.split(",").slice(2))).toEqual([
      [operator, "command line", "resume", "history-retention for acme", "done", "resumed"],
      [operator, "command line", "pause", "history-retention for acme", "done", "paused"],
    ]);
    expect((await ann.get(page)).html).toContain('<a href="/audit">All operators</a>');
    expect((await ann.get("/audit?operator=nobody")).html).toContain("No records match these filters.");
    // Not every engine accepts zero characters.
    for (const path of ["/audit?operator", "/personalization?sku=MUG&brand", "/personalization/versions?brand"]) {
      expect([path, (await ann.get(`${path}=no%00body`)).status]).toEqual([path, 200]);
    }
    expect((await ann.get("/actions/rollback?brand=no%00body")).status).toBe(400);
  });

  test("see what one of them did on one day, page by page, and in the file", async () => {
    const ann = await signedIn(tokens.ann);
    const begun = (begun_at: string, operator: string, subject: string) => ({
      ...{ begun_at, operator, subject, client: "::1", action: "run" },
    });
    await sql`INSERT INTO audit_record ${sql([
      begun("2026-03-07T23:59:59.999Z", "eve", "the day before"),
      begun("2026-03-08T00:00:00.000Z", "eve", "the first"),
      begun("2026-03-08T12:00:00.000Z", "fay", "by another operator"),
      ...Array.from({ length: 50 }, () => begun("2026-03-08T23:59:59.999Z", "eve", "later")),
      begun("2026-03-09T00:00:00.000Z", "eve", "the day after"),
    ])}`;
    const { html: all } = await ann.get("/audit");
    const names = [...(all.match(/<datalist.*<\/datalist>/s)?.[0] ?? "").matchAll(/value="([^"]*)"/g)];
    expect(names.map(([, name]) => name)).toContainEqual("ann");
    expect(names.flatMap(([, name]) => (name === "eve" || name === "fay" ? [name] : []))).toEqual(["eve", "fay"]);

    const subjectsOf = async (url: string) => {
      const [, ...rows] = (await ann.get(`${url.replaceAll("&amp;", "&")}&format=csv`)).html.trimEnd().split("\r\n");
      return rows.map((row) => row.split(",")[5]);
    };
    const page = "/audit?operator=eve&from=2026-03-08&to=2026-03-08";
    const { html } = await ann.get(page);
    expect([...html.matchAll(/>later</g)]).toHaveLength(50);
    expect(html).not.toContain("the day");
    expect(html).toMatch(/<input type="search" name="operator"[^>]* value="eve"/);
    expect(html).toContain(`<input type="date" name="from" value="2026-03-08"`);
    expect(await subjectsOf(page)).toEqual(Array.from({ length: 50 }, () => "later"));
    const [, older = ""] = html.match(/href="([^"]+)">Older records/) ?? [];
    expect(await subjectsOf(older)).toEqual(["the first"]);
    expect((await ann.get(older.replaceAll("&amp;", "&"))).html).toContain(
      `<a href="${page.replaceAll("&", "&amp;")}">Newest records</a>`,
    );
    expect(await subjectsOf("/audit?from=2026-03-08&to=2026-03-08&operator=fay")).toEqual(["by another operator"]);
    expect(await subjectsOf("/audit?to=2026-03-07")).toEqual(["the day before"]);
    expect(await subjectsOf("/audit?operator=eve&from=2026-03-09")).toEqual(["the day after"]);
    const everybodys = html.match(/href="([^"]+)">All operators/)?.[1];
    expect(everybodys).toBe("/audit?from=2026-03-08&amp;to=2026-03-08");
    await sql`DELETE FROM audit_record WHERE operator IN ('eve', 'fay')`;
  });

  test("remove a brand only after they typed its name, and only what its page showed", async () => {
    await importWith("Serif", "acme");
    const ann = await signedIn(tokens.ann);
    expect((await ann.get("/actions/remove-brand?brand=acme")).html).toContain("A job imports this brand");
    for (const typed of ["", "Acme", "other"]) {
      expect((await ann.post("/actions/remove-brand", { brand: "acme", typed })).status).toBe(400);
    }
    expect(await generations("acme")).toHaveLength(1);
    const late = { ...fieldsOf((await ann.get("/actions/remove-brand?brand=acme")).html), typed: "acme" };
    await importWith("Roman", "acme");
    expect((await ann.post("/actions/remove-brand", late)).status).toBe(409);
    expect(await generations("acme")).toHaveLength(1);
    await sql`INSERT INTO run (job, brand, started_at, lease_until, lease_seconds)
      VALUES ('personalization-import', 'acme', '2026-01-01T00:00:00.000Z', '9999', 3600)`;
    const refused = await ann.post("/actions/remove-brand", { brand: "acme", typed: "acme" });
    const said = /Run \d+ is importing the personalization of acme since .*; try again when it has finished\. This is/;
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringMatching(said)]);
    await sql`DELETE FROM run WHERE finished_at IS NULL`;
    const remove = () => ann.post("/actions/remove-brand", { brand: "acme", typed: "acme" });
    const sent = await Promise.all([remove(), remove()]);
    expect(sent.map(({ status }) => status).toSorted()).toEqual([303, 409]);
    expect(await generations("acme")).toEqual([]);
    expect((await ann.post("/actions/remove-brand", { brand: "acme", typed: "acme" })).status).toBe(409);
  });
});
