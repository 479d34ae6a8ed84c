import { describe, expect, test } from "bun:test";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { claimRun } from "../../src/jobs/claim.ts";
import { listCurrentGenerations } from "../../src/personalization/generation.ts";
import { beginGeneration, finishGeneration } from "../../src/personalization/import/generation-loading.ts";
import { savePresentation } from "../../src/personalization/presentation/store.ts";
import { rollBack } from "../../src/personalization/rollback.ts";
import { generations, presentations } from "../../src/personalization/versions.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createMigratedStore,
  type Engine,
  engines,
  pds,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { startServer } from "../support/server.ts";

const folder = await temporaryFolder();

/** A feed whose last file is not sent until the test says so. */
function startHeldFeed() {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const respond = async ({ url }: Request) => {
    const name = new URL(url).pathname.slice(1);
    const text = feedFiles[name as keyof typeof feedFiles];
    if (text === undefined) return new Response(null, { status: 404 });
    if (name === "pzchoices.csv") {
      asked.resolve();
      await released.promise;
    }
    return new Response(text, { headers: { ETag: '"1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT" } });
  };
  return { url: startServer(respond, { idleTimeout: 0 }), asked: asked.promise, release: released.resolve };
}

/** A store with two generations of a brand. */
async function createWorld(engine: Engine) {
  const url = await createMigratedStore(engine);
  const environment = { DATABASE_URL: url, BRAND: "acme" };
  for (const choice of ["Serif", "Script"]) {
    const pzchoices = feedFiles["pzchoices.csv"].replace("Serif", choice);
    const feed = await writeFeed(folder, choice, { ...feedFiles, "pzchoices.csv": pzchoices });
    expect(await importHere(["import", "personalization", feed], environment)).toMatchObject({ code: 0 });
  }
  return { url, environment };
}

describe.each([...engines])("on %s, a rollback", (engine) => {
  test("cancels the brand's import in progress, and is not undone by it", async () => {
    const { url, environment } = await createWorld(engine);
    const feed = startHeldFeed();
    const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), {
      "pds.toml": `[jobs.personalization-import]\nsource = "${feed.url}"\nsettle_seconds = 0\n`,
    });
    const imported = pds(["run", "personalization-import"], { ...environment, PDS_CONFIG });
    await feed.asked;
    expect((await pds(["rollback", "personalization"], environment)).code).toBe(0);
    feed.release();
    expect((await imported).code).toBe(1);
    await using sql = await connectTo(url);
    const [{ generation }] = await sql`SELECT generation FROM current_generation`;
    const [first] = await sql`SELECT min(id) AS id FROM generation`;
    expect(generation).toBe(first.id);
    const [run] = await sql`SELECT outcome, reason FROM run ORDER BY id DESC LIMIT 1`;
    expect(run).toEqual({ outcome: "cancelled", reason: `cancelled by the rollback to generation ${generation}` });
  });

  test.each(["loads its generation", "has not begun to load"])(
    "keeps an import from becoming current that %s",
    async (state) => {
      const database = await openDatabase((await createWorld(engine)).url);
      const run = (await claimRun(database, { job: "personalization-import", brand: "acme" }, 60)) ?? 0;
      const [before] = await listCurrentGenerations(database);
      const begin = () => beginGeneration(database, "acme", run);
      const begun = state === "has not begun to load" ? undefined : await begin();
      const change = await rollBack(database, generations, "acme");
      const size = { rows: 0, skus: 0, styles: 0, choices: 0 };
      const finish = async () =>
        finishGeneration(database, run, "acme", begun ?? (await begin()), size, "{}", {
          ...{ from: before?.generation, fingerprints: [] },
        });
      const error = finish();
      await expect(error).rejects.toThrow(`cancelled by the rollback to generation ${change?.to}`);
      expect(await listCurrentGenerations(database)).toEqual([{ brand: "acme", generation: change?.to ?? 0 }]);
      await closeDatabase(database);
    },
  );

  test("does not cancel the import of another brand, nor one that begins later", async () => {
    const database = await openDatabase((await createWorld(engine)).url);
    const claim = async (brand: string) =>
      (await claimRun(database, { job: "personalization-import", brand }, 60)) ?? 0;
    const other = await claim("other");
    const change = await rollBack(database, generations, "acme");
    await rollBack(database, generations, "acme", change?.from ?? 0);
    for (const [brand, run] of [
      ["other", other],
      ["acme", await claim("acme")],
    ] as const) {
      expect(await beginGeneration(database, brand, run)).toBeGreaterThan(0);
    }
    await closeDatabase(database);
  });

  test("of a presentation cancels the import of a presentation", async () => {
    const database = await openDatabase((await createWorld(engine)).url);
    const claim = async () => (await claimRun(database, { job: "presentation-import", brand: "acme" }, 60)) ?? 0;
    const presentation = { brand: "acme", entries: [], feed: "{}", kept: 3 };
    const run = await claim();
    await savePresentation(database, run, presentation);
    await savePresentation(database, run, presentation);
    const change = await rollBack(database, presentations, "acme");
    await expect(savePresentation(database, run, presentation)).rejects.toThrow(
      `cancelled by the rollback to presentation ${change?.to}`,
    );
    await closeDatabase(database);
  });
});
