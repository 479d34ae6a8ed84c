import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { createTemporaryFolder, removeOrphanedFolders } from "../src/temporary-folder.ts";

test("a folder of a living process stays, also when the clock makes it look old", async () => {
  const folder = await createTemporaryFolder("feed");
  const longAgo = new Date(Date.now() - 30 * 86_400_000);
  await utimes(folder.path, longAgo, longAgo);
  await removeOrphanedFolders();
  expect(existsSync(folder.path)).toBe(true);
  await folder.remove();
});
