import { expect, test } from "bun:test";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { createStore, root, serve, temporaryFolder } from "../support/pds.ts";
import { until } from "../support/until.ts";

test("a service removes the temporary folders of killed runs", async () => {
  const temporary = await temporaryFolder();
  const environment = { PATH: process.env.PATH ?? "", TMPDIR: temporary };
  const source = join(root, "src/base/temporary-folder.ts");
  const code = `const { createTemporaryFolder } = await import(${JSON.stringify(source)});
    await createTemporaryFolder("bulk"); await createTemporaryFolder("feed"); console.log("created"); await Bun.sleep(60_000);`;
  const child = Bun.spawn([process.execPath, "-e", code], { env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const folders = () => readdirSync(temporary).filter((name) => name.startsWith("pds-"));
  await until("the folders are there", () => folders().length === 2);
  // As if the clock had been ten years behind, and was corrected during the run.
  for (const name of folders()) utimesSync(join(temporary, name), 1_400_000_000, 1_400_000_000);
  const remove = `await (await import(${JSON.stringify(source)})).removeOrphanedFolders();`;
  expect(await Bun.spawn([process.execPath, "-e", remove], { env: environment }).exited).toBe(0);
  expect(folders()).toHaveLength(2);
  const start = async () => serve({ DATABASE_URL: await createStore("sqlite"), TMPDIR: temporary });
  {
    await using _ = await start();
    expect(folders()).toHaveLength(2);
  }
  child.kill("SIGKILL");
  await child.exited;
  await using _ = await start();
  await until("they are removed", () => folders().length === 0);
});
