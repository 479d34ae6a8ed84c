import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles, toListFile, writeFeed } from "../support/feed.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import { importHere } from "../support/import-here.ts";
import { killOnExit } from "../support/kill-on-exit.ts";
import {
  begin,
  connectTo,
  createStore,
  type Environment,
  endLeases,
  enginesOf,
  main,
  pds,
  serveUntilEnd,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { until } from "../support/until.ts";

const marked = (prefix: string, mark: string, skus = 1) => ({
  ...feedFiles,
  "pzlines.csv": toListFile(
    "pzlines",
    Array.from({ length: skus }, (_, index) => `${prefix}-${index},NOTE,1,${mark}`),
  ),
});

/** Enough lines for several transactions, so that other writers get a turn. */
const many = 100_000;
const folder = await temporaryFolder();
const settings = await temporaryFolder();
const [keepsTwo = "", keepsFive = "", product = ""] = await writeFiles(settings, {
  "two.toml": '[jobs.personalization-import]\nsource = "."\nkeep_generations = 2\n',
  "five.toml": '[jobs.personalization-import]\nsource = "."\nkeep_generations = 5\n',
  "product.ndjson": toJson(toProduct(1)),
});

/** For an import that is suspended or superseded: its lease neither expires nor is renewed meanwhile. */
const unrenewed = { LEASE_SECONDS: "3600" };

let feeds = 0;
let brands = 0;

for (const engine of enginesOf("postgres")) {
  const url = await createStore(engine);
  const environment = { DATABASE_URL: url, BRAND: "acme" };
  // These tests read the store, so the cache is off.
  const service = await serveUntilEnd({ ...environment, MEMORY_MEGABYTES: "0" });
  const sql = await connectTo(url);
  afterAll(() => sql.close());

  /** A separate brand with SKUs of its own. */
  const newBrand = () => {
    const brand = `brand-${brands++}`;
    const feedOf = (mark: string, skus?: number) => writeFeed(folder, `feed-${feeds++}`, marked(brand, mark, skus));
    const argsOf = (feed: string, as = brand) => ["import", "personalization", feed, "--brand", as, "--json"];
    /** In a session of its own, an import keeps a share of the CPU although it has the lowest priority. */
    const start = (feed: string, also: Environment = {}) => begin(argsOf(feed), { ...environment, ...also });
    const importing = async (feed: string, also: Environment = {}) => {
      const child = start(feed, also);
      const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      return { code, stdout, stderr };
    };
    /** Imports where the process does not matter. */
    const importNow = (feed: string, config = "/dev/null", as = brand) =>
      importHere(argsOf(feed, as), { ...environment, PDS_CONFIG: config });
    /** The outcomes of the runs, newest first. */
    const outcomes = async () =>
      JSON.parse((await pds(["history", "--json"], environment)).stdout)
        .histories.filter((run: { brand: string }) => run.brand === brand)
        .map(({ outcome }: { outcome: string }) => outcome);
    const take = async (mark: string, config?: string) => {
      expect(await importNow(await feedOf(mark), config)).toMatchObject({ code: 0 });
    };
    const rollback = async (of = brand) =>
      (await pds(["rollback", "personalization", "--brand", of], environment)).code;
    /** The feeds that the responses for some SKUs come from; undefined for none. */
    const marksOf = async (...skus: number[]) => {
      const answers = skus.map(async (sku) => (await service.get(`/api/v1/products/pz/${brand}-${sku}`)).text());
      return [...new Set((await Promise.all(answers)).map((text) => text.match(/"style_sku_status":"(\w+)"/)?.[1]))];
    };
    const mark = async () => (await marksOf(0))[0];
    const complete = async (): Promise<number[]> =>
      (await sql`SELECT id FROM generation WHERE brand = ${brand} AND state = 'complete' ORDER BY id`).map(
        ({ id }: { id: number }) => id,
      );
    const current = async (of = brand): Promise<number> =>
      (await sql`SELECT generation FROM current_generation WHERE brand = ${of}`)[0]?.generation;
    /**
     * Starts an import, and suspends it between two transactions once it has loaded some of its rows.
     * @returns undefined if it had loaded all of them before
     */
    const suspend = async (feed: string) => {
      const [{ last }] = await sql`SELECT coalesce(max(id), 0) AS last FROM generation`;
      const child = start(feed, unrenewed);
      killOnExit(child, "TERM");
      const listLoading = () => sql`
        SELECT row_count FROM generation
        WHERE brand = ${brand} AND state = 'loading' AND row_count > 0 AND id > ${last}`;
      await until("the import loads", async () => (await listLoading()).length > 0 || child.exitCode !== null);
      await pause(child);
      if ((await listLoading()).length > 0) return child;
      child.kill("SIGCONT");
      expect(await child.exited).toBe(0);
      return undefined;
    };
    return {
      brand,
      feedOf,
      importing,
      importNow,
      outcomes,
      take,
      rollback,
      marksOf,
      mark,
      complete,
      current,
      suspend,
    };
  };

  /** Repeats the start of a test with other brands until its import is suspended in time. */
  const again = async <Started>(start: (brand: ReturnType<typeof newBrand>) => Promise<Started | undefined>) => {
    for (;;) {
      const brand = newBrand();
      const started = await start(brand);
      if (started !== undefined) return { ...brand, started };
    }
  };

  /** Expects the tables of each complete generation, and of no other. */
  const expectNoLeftovers = async () => {
    const states = await sql`SELECT id, state FROM generation ORDER BY id`;
    expect(states.filter(({ state }: { state: string }) => state !== "complete")).toEqual([]);
    const whole = states.map(({ id }: { id: number }) => id);
    expect(await listGenerationTables(sql)).toEqual(
      whole.flatMap((id: number) => ["group", "sku", "style"].map((noun) => `generation_${id}_${noun}`)).toSorted(),
    );
  };

  /** Suspends a process while it holds no lock that another import needs. */
  const pause = async (child: Bun.Subprocess) => {
    await using probe = await connectTo(url);
    const canWriteWithin = async (ms: number) => {
      await probe.unsafe(engine === "postgres" ? `SET lock_timeout = ${ms}` : `PRAGMA busy_timeout = ${ms}`);
      const written = probe`UPDATE generation SET row_count = row_count`;
      return await written.then(
        () => true,
        () => false,
      );
    };
    await until("the import pauses between two transactions", async () => {
      // Its transaction ends only while it runs.
      await canWriteWithin(10_000);
      child.kill("SIGSTOP");
      if (await canWriteWithin(50)) return true;
      child.kill("SIGCONT");
      return false;
    });
  };

  describe(`on ${engine}, generations of personalization`, () => {
    afterEach(expectNoLeftovers);

    test("that cannot be removed are noted, and removed by the next import", async () => {
      const { feedOf, importNow, take, mark, complete } = newBrand();
      await take("A", keepsTwo);
      await take("B", keepsTwo);
      const [oldest] = await complete();
      await sql`CREATE TABLE holder (generation INTEGER REFERENCES generation (id))`;
      await sql`INSERT INTO holder (generation) VALUES (${oldest})`;
      const { code, stdout } = await importNow(await feedOf("C"), keepsTwo);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        outcome: "succeeded",
        notes: [expect.stringMatching(/^cannot remove the oldest generation; .+: .*foreign key/i)],
      });
      expect(await mark()).toBe("C");

      await sql`DROP TABLE holder`;
      await take("D", keepsTwo);
      expect(await mark()).toBe("D");
      expect(await complete()).toHaveLength(2);
      await expectNoLeftovers();
    });

    test("are kept up to the configured number, which includes the current one", async () => {
      const { take, complete, mark, rollback } = newBrand();
      for (const each of ["1", "2", "3", "4"]) await take(each);
      expect(await complete()).toHaveLength(3);
      for (const each of ["5", "6"]) await take(each, keepsFive);
      expect(await complete()).toHaveLength(5);
      await take("7", keepsTwo);
      expect(await complete()).toHaveLength(2);
      expect(await mark()).toBe("7");
      expect([await rollback(), await mark()]).toEqual([0, "6"]);
      expect([await rollback(), await mark()]).toEqual([1, "6"]);
    });

    test("always include the current one, also after rollbacks, and imports are compared with it", async () => {
      const { feedOf, importNow, rollback, mark, complete, current } = newBrand();
      const importOf = async (each: string, skus: number, config?: string) => {
        const { code, stdout } = await importNow(await feedOf(each, skus), config);
        return { code, skus: JSON.parse(stdout).personalization.skus };
      };
      expect(await importOf("1", 30)).toEqual({ code: 0, skus: null });
      await importOf("2", 31);
      await importOf("3", 90);
      expect([await rollback(), await rollback(), await mark()]).toEqual([0, 0, "1"]);
      // Compared with the 30 SKUs of the current generation, not with later ones.
      expect(await importOf("x", 10)).toEqual({ code: 1, skus: { total: 10, added: 0, changed: 10, removed: 20 } });
      expect(await mark()).toBe("1");
      await expectNoLeftovers();
      const compared = { total: 28, added: 0, changed: 28, removed: 2 };
      expect(await importOf("4", 28, keepsTwo)).toEqual({ code: 0, skus: compared });
      expect(await mark()).toBe("4");
      expect(await complete()).toContain(await current());
    });

    test("of one brand do not affect those of another", async () => {
      const { brand, take, feedOf, importNow, mark, rollback, current, complete } = newBrand();
      const other = `${brand}-other`;
      await take("1");
      for (const each of ["2", "3", "4", "5"]) {
        const { code, stdout } = await importNow(await feedOf(each), "/dev/null", other);
        expect(code).toBe(0);
        const { skus } = JSON.parse(stdout).personalization;
        expect(skus).toEqual(each === "2" ? null : { total: 1, added: 0, changed: 1, removed: 0 });
      }
      expect(await mark()).toBe("1");
      const before = await current(other);
      expect(await rollback()).toBe(1);
      expect(await rollback(other)).toBe(0);
      expect(await current(other)).toBeLessThan(before);
      expect(await complete()).toHaveLength(1);
      expect(await mark()).toBe("1");
    });

    test("are served only when complete; the next import removes those of a killed one", async () => {
      const { feedOf, importNow, mark, complete, outcomes } = await again(
        async ({ brand, take, feedOf, suspend, mark, marksOf }) => {
          await take("old");
          const large = await feedOf("large", many);
          for (let kill = 0; kill < 2; kill++) {
            const child = await suspend(large);
            if (child === undefined) return undefined;
            child.kill("SIGKILL");
            await child.exited;
            await endLeases(url);
            expect(await sql`SELECT id FROM generation WHERE brand = ${brand} AND state = 'loading'`).toHaveLength(1);
            expect([await mark(), await marksOf(1, many - 1)]).toEqual(["old", [undefined]]);
          }
          return true;
        },
      );
      expect(await importNow(await feedOf("new"))).toMatchObject({ code: 0 });
      expect(await mark()).toBe("new");
      expect(await complete()).toHaveLength(2);
      expect(await outcomes()).toEqual(["succeeded", "abandoned", "abandoned", "succeeded"]);
    });

    test("do not block other writers and rollbacks during an import", async () => {
      const {
        brand,
        mark,
        started: child,
      } = await again(async ({ take, feedOf, suspend }) => {
        await take("1");
        await take("2");
        return await suspend(await feedOf("3", many));
      });
      expect(await pds(["rollback", "personalization", "--brand", brand], environment)).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^made generation \d+ of .* current instead of \d+\n$/),
      });
      expect(await mark()).toBe("1");
      expect(await importHere(["import", "products", product], environment)).toMatchObject({ code: 0 });
      child.kill("SIGCONT");
      // The rollback wins.
      expect(await child.exited).toBe(1);
      expect(JSON.parse(await child.stdout.text()).reason).toMatch(/^cancelled by the rollback to generation \d+$/);
      expect(await mark()).toBe("1");
    });

    test("of an import are abandoned if another import supersedes it", async () => {
      const {
        feedOf,
        importNow,
        marksOf,
        complete,
        started: overtaken,
      } = await again(async ({ take, feedOf, suspend }) => {
        await take("old");
        return await suspend(await feedOf("slow", many));
      });
      await endLeases(url);
      expect(await importNow(await feedOf("quick", 100))).toMatchObject({ code: 0 });
      overtaken.kill("SIGCONT");
      expect(await overtaken.exited).toBe(1);
      // On PostgreSQL, its connection may have been ended in the middle of a transaction.
      expect(JSON.parse(await overtaken.stdout.text()).reason).toBeOneOf([
        "another import for the same brand began later and replaces this one",
        "its lease expired, so another run may have started",
      ]);
      expect(await marksOf(0, 1, 99)).toEqual(["quick"]);
      expect(await complete()).toHaveLength(2);
    });

    test("of two simultaneous imports do not mix, and the last one started is current", async () => {
      const { take, feedOf, importing, marksOf, current, complete } = newBrand();
      await take("old");
      let served = ["old"];
      // The second import waits for the first one's heartbeat, and starts if that has ended or
      // stopped. The first round is over before one, however slow the machine is.
      for (const [round, { lease, skus }] of [
        { lease: "3600", skus: 10_000 },
        { lease: "1", skus: many },
      ].entries()) {
        const marks = [`a${round}`, `b${round}`];
        const feedsOfRound = await Promise.all(marks.map((each) => feedOf(each, skus)));
        const ended = await Promise.all(feedsOfRound.map((each) => importing(each, { LEASE_SECONDS: lease })));
        const winners = marks.filter((_, index) => ended[index]?.code === 0);
        if (lease === "3600") expect(winners).toEqual(marks);
        // On a busy machine the heartbeats of both can be late by a second; then neither is served.
        if (winners.length > 0) served = winners;
        for (const { code, stderr } of ended) {
          if (code !== 0)
            expect(stderr).toMatch(/is already running for |its lease expired|another import for the same/);
        }
        const seen = await marksOf(0, 1, 1500, 2999);
        expect(seen).toHaveLength(1);
        expect(served).toContain(seen[0] ?? "");
        expect(await current()).toBe((await complete()).at(-1) ?? 0);
        await expectNoLeftovers();
      }
    });

    // Only PostgreSQL lets a test hold an import at the right moment.
    if (engine !== "postgres") return;

    test.each([
      ["are begun one after the other", "generation"],
      // Written last, in the transaction that completes a generation.
      ["leave nothing behind when another import begins just before they are whole", "current_generation"],
    ])("%s", async (_, table) => {
      const { take, feedOf, importing, mark, current, complete } = newBrand();
      await take("old");
      const held = await hold(table);
      const first = importing(await feedOf("a", 3000), unrenewed);
      await held.blocked();
      await endLeases(url);
      const second = importing(await feedOf("b", 3000));
      // The second ends the transaction of the first, and then waits itself.
      expect((await first).code).toBe(1);
      await held.blocked();
      await held.release();
      expect((await second).code).toBe(0);
      expect(await mark()).toBe("b");
      expect(await current()).toBe((await complete()).at(-1) ?? 0);
    });
  });

  /** Blocks writers of a table on PostgreSQL. */
  const hold = async (table: string) => {
    const holder = await connectTo(url);
    await holder.unsafe("BEGIN");
    await holder.unsafe(`LOCK TABLE ${table} IN EXCLUSIVE MODE`);
    const blocked = () =>
      until("one waits", async () => {
        const [row] = await sql`
          SELECT count(DISTINCT pid) AS waiting FROM pg_locks
          JOIN pg_stat_activity USING (pid) WHERE NOT granted AND pg_stat_activity.datname = current_database()`;
        return Number(row.waiting) > 0;
      });
    const release = async () => {
      await holder.unsafe("COMMIT");
      await holder.close();
    };
    return { blocked, release };
  };
}

describe("on a terminal, an import", () => {
  /** Runs an import on a terminal. @returns the output */
  const onTerminal = async (feed: string) => {
    const store = `sqlite:${join(folder, `terminal-${feeds++}.sqlite`)}`;
    let seen = "";
    const decoder = new TextDecoder();
    const child = Bun.spawn([process.execPath, main, "import", "personalization", feed], {
      env: { PATH: process.env.PATH ?? "", PDS_CONFIG: "/dev/null", DATABASE_URL: store },
      terminal: {
        cols: 200,
        rows: 30,
        data: (_, data) => {
          seen += decoder.decode(data, { stream: true });
        },
      },
    });
    const code = await child.exited;
    await until("the terminal has got it all", () => /imported for default|pds: /.test(seen));
    child.terminal?.close();
    return { code, seen };
  };

  test("shows rows, rows per second, and remaining time", async () => {
    const feed = await writeFeed(folder, `feed-${feeds++}`, marked("TTY", "A", 600_000));
    const { code, seen } = await onTerminal(feed);
    expect(code).toBe(0);
    const lines = `${feed}/pzlines.csv: `;
    const shown = seen
      .split("\r")
      .filter((text) => text.startsWith(lines))
      .map((text) => text.slice(lines.length).replace("\x1b[K", ""));
    expect(shown[0]).toMatch(/^[\d,]+ rows, [\d,]+ per second, \d+ s left$/);
    expect(shown.some((text) => /^600,000 rows, [\d,]+ per second, done\n?$/.test(text))).toBe(true);
    expect(seen).toMatch(/pzstyles\.csv: 5 rows, [\d,]+ per second, done/);
  });

  test("prints a failure on a separate line", async () => {
    const rows = marked("TTY", "A", 400_000);
    const feed = await writeFeed(folder, `feed-${feeds++}`, {
      ...rows,
      "pzlines.csv": Buffer.concat([Buffer.from(`${rows["pzlines.csv"]}É`), new Uint8Array(200_000).fill(0xff)]),
    });
    const { code, seen } = await onTerminal(feed);
    expect(code).toBe(1);
    expect(seen).toContain(" s left");
    expect(seen).toMatch(/\npds: personalization-import: .*mixed encodings/);
  });
});

test("a successful import without a terminal prints nothing to standard error", async () => {
  const store = `sqlite:${join(folder, "silent.sqlite")}`;
  const feed = await writeFeed(folder, `feed-${feeds++}`, marked("PIPE", "A", 20_000));
  expect(await pds(["import", "personalization", feed], { DATABASE_URL: store })).toMatchObject({
    code: 0,
    stderr: "",
  });
});
