import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { $ } from "bun";
import { packPackages } from "../../scripts/packages.ts";
import { root, temporaryFolder } from "./pds.ts";

/** Packages of a stranger's own project. */
const theirs = ["@types/react", "react", "react-dom", "vue"];

/**
 * Installs the packed packages in an empty folder, as a stranger does.
 * @returns the folder, and the names of the files in each archive
 */
export async function installPackages() {
  const folder = join(await temporaryFolder(), "a shop");
  await mkdir(folder);
  const archives = await packPackages(folder);
  const listed = await Promise.all(archives.map((archive) => $`tar -tzf ${archive}`.quiet().text()));
  await Bun.write(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  await $`npm install --offline --silent ${archives}`.cwd(folder).quiet();
  for (const name of theirs) {
    const link = join(folder, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, "node_modules", name), link);
  }
  return { folder, files: listed.map((names) => names.trim().split("\n").sort()) };
}
