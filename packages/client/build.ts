import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";

const here = import.meta.dir;

/** The modules that `index.ts` re-exports. Their declarations must not refer to other modules. */
const publicModules = ["types", "errors", "form", "client"];

/**
 * Builds the package: one minified ES module with its source map, and one declaration file.
 * @throws when bundling or type checking fails
 */
export async function build(outdir: string): Promise<void> {
  await rm(outdir, { recursive: true, force: true });
  const entrypoints = [join(here, "src", "index.ts")];
  await Bun.build({ entrypoints, outdir, target: "browser", format: "esm", minify: true, sourcemap: "linked" });
  await writeFile(join(outdir, "index.d.ts"), await declarations());
}

async function declarations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "declarations-"));
  try {
    await $`${join(here, "..", "..", "node_modules", ".bin", "tsc")} -p ${here} --outDir ${folder}`.quiet();
    const texts = await Promise.all(publicModules.map((name) => readFile(join(folder, `${name}.d.ts`), "utf8")));
    return texts.map((text) => text.replace(/^(import .*|export \{\};)\n/gm, "")).join("");
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.main) await build(join(here, "dist"));
