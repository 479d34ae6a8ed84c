import { expect, test } from "bun:test";
import { openConsole, textOf } from "../support/console.ts";
import { createMigratedStore, enginesOf, pds, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

test.each(enginesOf("sqlite"))("on %s, the page of a run in progress shows whole lines of output", async (engine) => {
  const url = await createMigratedStore(engine);
  const folder = await temporaryFolder();
  const answer = Promise.withResolvers<Response>();
  await using feed = Bun.serve({ port: 0, fetch: () => answer.promise });
  const [settings = "", preload = ""] = await writeFiles(folder, {
    "pds.toml": `brand = "acme"\n\n[jobs.personalization-import]\nsource = "${feed.url.href}"\n`,
    // The process of the run prints it before its work begins.
    "preload.ts":
      'if (process.argv.includes("--claimed")) process.stderr.write("read http://ann:secret@host/\\nhttp://ann:sec");',
  });
  const environment = { DATABASE_URL: url, PDS_CONFIG: settings, BUN_OPTIONS: `--preload=${preload}` };
  await using console = await openConsole(url, "acme");
  const running = pds(["run", "personalization-import"], environment, folder);
  let page = "";
  await until("the page shows the output", async () => {
    const [run] = await console.database.sql<{ log: string | null }[]>`SELECT log FROM run WHERE id = 1`;
    if (run?.log == null) return false;
    page = textOf(await console.load("/runs/1"));
    return true;
  });
  expect(page).toContain("running");
  expect(page).toContain("Last line of output read http://hidden@host/ All runs of");
  answer.resolve(new Response("gone", { status: 404 }));
  expect((await running).code).toBe(1);
  expect(textOf(await console.load("/runs/1"))).toMatch(/Last \d+ lines of output read http:/);
});
