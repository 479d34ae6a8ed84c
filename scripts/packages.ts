import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";

const root = Bun.fileURLToPath(new URL("..", import.meta.url));

/** Packages that are published with each release: folders of `packages/`. */
export const publishedPackages = ["client", "personalizer"];

/**
 * Packs the packages as `npm publish` does.
 * @returns paths of the archives in the folder
 * @throws if a package cannot be built
 */
export async function packPackages(folder: string): Promise<string[]> {
  const sources = publishedPackages.map((name) => `./packages/${name}`);
  // The archives have the modes of the files, and a release that is repeated needs the same archives.
  process.umask(0o022);
  await $`chmod -R u=rwX,go=rX ${sources}`.cwd(root);
  const printed = await $`npm pack --silent --pack-destination ${folder} ${sources}`.cwd(root).quiet().text();
  return printed
    .trim()
    .split("\n")
    .map((name) => join(folder, name));
}

/** Whether the archives are what bundlers, Node, and TypeScript expect. Prints what is wrong. */
export async function checkPackages(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "pds-packages-"));
  const programs = join(root, "node_modules", ".bin");
  try {
    const archives = await packPackages(folder);
    let isRight = true;
    for (const archive of archives) {
      const results = [
        await $`${join(programs, "publint")} run ${archive} --strict`.nothrow().quiet(),
        await $`${join(programs, "attw")} ${archive} --profile esm-only --format ascii --no-color`.nothrow().quiet(),
      ];
      for (const { exitCode, stdout, stderr } of results) {
        if (exitCode === 0) continue;
        isRight = false;
        process.stderr.write(`${stdout}${stderr}`);
      }
    }
    return isRight;
  } finally {
    await rm(folder, { recursive: true });
  }
}
