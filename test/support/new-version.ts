import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import { root, temporaryFolder } from "./pds.ts";

/** Another build of the program, with the same tables. @returns its main file */
export async function createNewVersion(): Promise<string> {
  const copy = await temporaryFolder();
  await cp(join(root, "src"), join(copy, "src"), { recursive: true });
  for (const name of ["node_modules", "packages", "sample", "package.json", "tsconfig.json"]) {
    await symlink(join(root, name), join(copy, name));
  }
  const outdir = join(copy, "dist");
  const { success, logs } = await Bun.build({
    ...{ entrypoints: [join(copy, "src", "main.ts")], outdir, target: "bun", format: "cjs", bytecode: true },
  });
  if (!success) throw new AggregateError(logs, "building the new version failed");
  return join(outdir, "main.js");
}
