import { describe, expect, test } from "bun:test";
import { feedFiles, toListFile, writeFeed } from "../support/feed.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import { killOnExit } from "../support/kill-on-exit.ts";
import {
  connectTo,
  createStore,
  type Environment,
  endLeases,
  enginesOf,
  main,
  pds,
  serve,
  temporaryFolder,
} from "../support/pds.ts";
import { until } from "../support/until.ts";

/** Enough that the import takes a moment after it created the tables. */
const skus = 60_000;

const folder = await temporaryFolder();
const lines = Array.from({ length: skus }, (_, index) => `SKU-${index},NOTE,1,A`);
const large = await writeFeed(folder, "large", { ...feedFiles, "pzlines.csv": toListFile("pzlines", lines) });
const small = await writeFeed(folder, "small");

interface World {
  readonly environment: Environment & { readonly DATABASE_URL: string };
  readonly query: (statement: string) => Promise<Record<string, unknown>[]>;
  readonly tables: () => Promise<string[]>;
  /** The tables of the complete generation. */
  readonly whole: string[];
}

describe.each([...enginesOf("postgres")])("on %s, the tables of a killed import", (engine) => {
  /** A store with a complete generation, and the unfinished one of a killed import of another brand. */
  const createWorld = async (): Promise<World> => {
    const DATABASE_URL = await createStore(engine);
    const environment = { DATABASE_URL, BRAND: "acme" };
    expect(await pds(["import", "personalization", small], environment)).toMatchObject({ code: 0 });
    const query = async (statement: string) => {
      await using sql = await connectTo(DATABASE_URL);
      return [...(await sql.unsafe(statement))];
    };
    const tables = async () => {
      await using sql = await connectTo(DATABASE_URL);
      return await listGenerationTables(sql);
    };
    const whole = await tables();
    const child = Bun.spawn([process.execPath, main, "import", "personalization", large, "--brand", "killed"], {
      env: { PATH: process.env.PATH, PDS_CONFIG: "/dev/null", ...environment },
      stdio: ["ignore", "ignore", "ignore"],
    });
    killOnExit(child, "TERM");
    await until(
      "it has created its tables",
      async () => child.exitCode !== null || (await tables()).length > whole.length,
    );
    child.kill("SIGKILL");
    await child.exited;
    // On a busy machine it may have ended by then.
    if (child.signalCode !== "SIGKILL") return await createWorld();
    expect(await query("SELECT brand FROM generation WHERE state = 'loading'")).toMatchObject([{ brand: "killed" }]);
    return { environment, query, tables, whole };
  };

  test.each(["on", "off"])(
    "are removed when the service starts with SCHEDULER=%s, but not those of a run in progress",
    async (SCHEDULER) => {
      const { environment, query, tables, whole } = await createWorld();
      await endLeases(environment.DATABASE_URL);
      await query("INSERT INTO generation (brand, loaded_at, state) VALUES ('alive', '', 'loading')");
      await query(
        "INSERT INTO run (job, brand, started_at, lease_until) VALUES ('personalization-import', 'alive', '', '9999')",
      );
      await using _ = await serve({ ...environment, SCHEDULER });
      await until("the tables are removed", async () => (await tables()).length === whole.length);
      expect(await tables()).toEqual(whole);
      expect(await query("SELECT brand, state FROM generation ORDER BY id")).toMatchObject([
        { brand: "acme", state: "complete" },
        { brand: "alive", state: "loading" },
      ]);
      expect(await query("SELECT outcome FROM run WHERE brand = 'killed'")).toMatchObject([{ outcome: "abandoned" }]);
    },
  );

  test("stay until its lease has expired", async () => {
    const { environment, query, tables, whole } = await createWorld();
    await query("UPDATE run SET lease_until = '9999', lease_seconds = NULL WHERE finished_at IS NULL");
    // The service removes these in the round in which it looks at the others.
    await query("INSERT INTO generation (brand, loaded_at, state) VALUES ('gone', '', 'loading')");
    await using _ = await serve(environment);
    const loading = () => query("SELECT brand FROM generation WHERE state <> 'complete' ORDER BY id");
    await until("the service has looked", async () => (await loading()).length === 1);
    expect(await loading()).toMatchObject([{ brand: "killed" }]);
    expect((await tables()).length).toBeGreaterThan(whole.length);
  });
});
