import { describe, expect, test } from "bun:test";
import { hostname } from "node:os";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  createMigratedStore,
  type Engine,
  enginesOf,
  pds,
  queryStore,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";

// What operators do on the command line is recorded as what they do in the console.

const folder = await temporaryFolder();
const [PDS_CONFIG = ""] = await writeFiles(folder, {
  "pds.toml": 'brand = "acme"\n[jobs.history-retention]\nschedule = "@daily"\n',
});
const feeds = await Promise.all(
  ["Serif", "Roman"].map((choice) => {
    const pzchoices = feedFiles["pzchoices.csv"].replace("Serif", choice);
    return writeFeed(folder, choice, { ...feedFiles, "pzchoices.csv": pzchoices });
  }),
);
const operator = `${(await Bun.$`id -un`.text()).trim()}@${hostname()}`;

interface Recorded {
  readonly operator: string;
  readonly client: string;
  readonly action: string;
  readonly subject: string;
  readonly outcome: string | null;
  readonly result: string | null;
}

/** A new store, and its audit. */
async function createWorld(engine: Engine) {
  const environment = { DATABASE_URL: await createMigratedStore(engine), PDS_CONFIG };
  const query = <Row>(statement: string) => queryStore<Row>(environment.DATABASE_URL, statement);
  const audit = async () => {
    const records = await query<Recorded>("SELECT * FROM audit_record ORDER BY id");
    for (const { operator: by, client } of records) expect([by, client]).toEqual([operator, "command line"]);
    return records.map(({ action, subject, outcome, result }) => [action, subject, outcome, result]);
  };
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await pds(words, environment);
    return { code, text: stdout + stderr };
  };
  const importFeeds = async () => {
    for (const feed of feeds) {
      expect(await importHere(["import", "personalization", feed], environment)).toMatchObject({ code: 0 });
    }
    const rows = await query<{ id: number }>("SELECT id FROM generation ORDER BY id");
    return rows.map(({ id }) => id) as [number, number];
  };
  return { environment, query, audit, run, importFeeds };
}

describe.each([...enginesOf("sqlite")])("on %s, the audit has", (engine) => {
  test.concurrent("pauses and resumptions, also those that changed nothing", async () => {
    const { audit, run } = await createWorld(engine);
    for (const command of ["pause", "pause", "resume", "resume"]) {
      expect(await run(command, "history-retention")).toMatchObject({ code: 0 });
    }
    const subject = "history-retention for acme";
    expect(await audit()).toEqual([
      ["pause", subject, "done", "paused"],
      ["pause", subject, "done", "was paused already"],
      ["resume", subject, "done", "resumed"],
      ["resume", subject, "done", "was not paused"],
    ]);
  });

  test.concurrent("cancellations, also refused ones", async () => {
    const { audit, run, query } = await createWorld(engine);
    await query(`INSERT INTO run (job, brand, started_at, lease_until, lease_seconds)
      VALUES ('history-retention', 'acme', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:30.000Z', 30)`);
    expect(await run("cancel", "1")).toMatchObject({ code: 0 });
    expect(await run("cancel", "1")).toMatchObject({ code: 1, text: expect.stringContaining("has ended already") });
    expect(await run("cancel", "2")).toMatchObject({ code: 1, text: expect.stringContaining("there is no run 2") });
    const subject = "run 1, history-retention for acme";
    expect(await audit()).toEqual([
      ["cancel", subject, "done", "asked the run to end"],
      ["cancel", subject, "refused", "Run 1 is not in progress."],
      ["cancel", "run 2", "refused", "Run 2 is not in progress."],
    ]);
  });

  test.concurrent("rollbacks of personalization, and removals of brands", async () => {
    const { audit, run, query, importFeeds } = await createWorld(engine);
    const [first, second] = await importFeeds();
    const rollback = (...options: string[]) => run("rollback", "personalization", ...options);
    expect(await rollback()).toEqual({
      code: 0,
      text: expect.stringMatching(/^made generation \d+ of acme current instead of \d+\n$/),
    });
    expect(await rollback()).toEqual({ code: 1, text: "nothing to roll back to for acme\n" });
    expect(await rollback("--to", `${first}`)).toMatchObject({ code: 0 });
    expect(await rollback("--to", "99")).toMatchObject({ code: 1, text: expect.stringContaining("99 is not stored") });
    await query(`INSERT INTO run (job, brand, started_at, lease_until)
      VALUES ('personalization-import', 'acme', '2026-01-01T00:00:00.000Z', '9999-01-01T00:00:00.000Z')`);
    expect(await run("brands", "remove", "acme")).toMatchObject({ code: 1 });
    await query("DELETE FROM run WHERE finished_at IS NULL");
    const removed = "removed the personalization of acme: 2 generations\n";
    expect(await run("brands", "remove", "acme")).toEqual({ code: 0, text: removed });
    expect(await run("brands", "remove", "acme")).toMatchObject({ code: 1 });
    expect(await audit()).toEqual([
      [
        "rollback",
        `acme, from generation ${second} to ${first}`,
        "done",
        `made generation ${first} current instead of ${second}`,
      ],
      ["rollback", "acme", "refused", "acme has no earlier generation."],
      ["rollback", `acme, from generation ${first} to ${first}`, "done", `generation ${first} was current already`],
      ["rollback", "acme", "refused", expect.stringMatching(/^Generation 99 is not stored; .+\.$/)],
      ["remove-brand", "acme", "refused", expect.stringMatching(/^Run \d+ is importing the personalization of acme/)],
      ["remove-brand", "acme", "done", "removed 2 generations"],
      ["remove-brand", "acme", "refused", 'No personalization of "acme" is stored; stored brands: none.'],
    ]);
  });

  test.concurrent("rollbacks at the same time, each with the versions that it changed", async () => {
    const { audit, run, importFeeds, query } = await createWorld(engine);
    await importFeeds();
    await importFeeds();
    expect((await query("SELECT id FROM generation")).length).toBeGreaterThan(2);
    await Promise.all([1, 2, 3].map(() => run("rollback", "personalization")));
    const done = (await audit()).filter(([, , outcome]) => outcome === "done");
    expect(done.length).toBeGreaterThan(0);
    for (const [, subject, , result] of done) {
      const [from, to] = `${subject}`.match(/\d+/g) ?? [];
      expect(result).toBe(`made generation ${to} current instead of ${from}`);
    }
  });

  test.concurrent("rollbacks of presentations", async () => {
    const { audit, run, query } = await createWorld(engine);
    await query(`INSERT INTO presentation (brand, loaded_at, since, entries, feed, document)
      VALUES ('acme', '2026-01-01T00:00:00.000Z', NULL, 0, '{}', '[]')`);
    await query(`INSERT INTO presentation (brand, loaded_at, since, previous, entries, feed, document)
      VALUES ('acme', '2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z', 1, 0, '{}', '[]')`);
    const made = "made presentation 1 of acme current instead of 2\n";
    expect(await run("rollback", "presentation")).toEqual({ code: 0, text: made });
    const json = await run("rollback", "presentation", "--to", "2", "--json");
    expect(JSON.parse(json.text)).toEqual({ brand: "acme", presentation: 2, before: 1 });
    const current = "presentation 2 of acme is already current\n";
    expect(await run("rollback", "presentation", "--to", "2")).toEqual({ code: 0, text: current });
    expect(await audit()).toEqual([
      ["rollback-presentation", "acme, from presentation 2 to 1", "done", "made presentation 1 current instead of 2"],
      ["rollback-presentation", "acme, from presentation 1 to 2", "done", "made presentation 2 current instead of 1"],
      ["rollback-presentation", "acme, from presentation 2 to 2", "done", "presentation 2 was current already"],
    ]);
  });

  test.concurrent("nothing of mistyped commands, and of those that only read", async () => {
    const { audit, run } = await createWorld(engine);
    for (const words of [
      ["pause", "nope"],
      ["cancel", "x"],
      ["rollback", "personalization", "--to", "0"],
    ]) {
      expect(await run(...words)).toMatchObject({ code: 2 });
    }
    for (const command of ["jobs", "brands", "history"]) expect(await run(command)).toMatchObject({ code: 0 });
    expect(await audit()).toEqual([]);
  });
});

const breakInserts = (table: string) =>
  `CREATE TRIGGER broken BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'inside'); END`;

test("an action that fails is recorded without internals, which the command prints", async () => {
  const { audit, run, query } = await createWorld("sqlite");
  await query(breakInserts("job_pause"));
  expect(await run("pause", "history-retention")).toMatchObject({ code: 1, text: expect.stringContaining("inside") });
  expect(await audit()).toEqual([
    [
      "pause",
      "history-retention for acme",
      "failed",
      expect.stringMatching(/^An internal error occurred; the output of/),
    ],
  ]);
});

test("an action that cannot be recorded does not happen", async () => {
  const { audit, run, query } = await createWorld("sqlite");
  await query(breakInserts("audit_record"));
  expect(await run("pause", "history-retention")).toMatchObject({ code: 1 });
  expect([await audit(), await query("SELECT * FROM job_pause")]).toEqual([[], []]);
});

test("an action whose result cannot be recorded succeeds, and says so", async () => {
  const { audit, run, query } = await createWorld("sqlite");
  await query("CREATE TRIGGER broken BEFORE UPDATE ON audit_record BEGIN SELECT RAISE(ABORT, 'inside'); END");
  const { code, text } = await run("pause", "history-retention");
  expect({ code, text }).toMatchObject({
    code: 0,
    text: expect.stringContaining("history-retention for acme is paused\n"),
  });
  expect(text).toContain("audit record 1 has no result: ");
  expect(await audit()).toEqual([["pause", "history-retention for acme", null, null]]);
  expect(await query("SELECT * FROM job_pause")).toHaveLength(1);
});
