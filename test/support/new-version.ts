import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root, temporaryFolder } from "./pds.ts";

/** A build of the program with one more migration, which only adds. @returns its main file */
export async function createNewVersion(): Promise<string> {
  const copy = await temporaryFolder();
  await cp(join(root, "src"), join(copy, "src"), { recursive: true });
  for (const name of ["node_modules", "packages", "sample", "package.json", "tsconfig.json"]) {
    await symlink(join(root, name), join(copy, name));
  }
  const later = '{ name: "2999-01-01-later", statements: ["ALTER TABLE run ADD COLUMN later TEXT"] }';
  for (const engine of ["sqlite", "postgres"]) {
    const path = join(copy, "src", "database", "engines", engine, "index.ts");
    const text = await readFile(path, "utf8");
    const changed = text.replace(/migrations: \[(.+?),?\s*\],\n/s, `migrations: [$1, ${later}],\n`);
    if (changed === text) throw new Error(`${path} has no list of migrations`);
    await writeFile(path, changed);
  }
  const outdir = join(copy, "dist");
  const { success, logs } = await Bun.build({
    ...{ entrypoints: [join(copy, "src", "main.ts")], outdir, target: "bun", format: "cjs", bytecode: true },
  });
  if (!success) throw new AggregateError(logs, "building the new version failed");
  return join(outdir, "main.js");
}
