import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";

const here = import.meta.dir;

/** The modules that `index.ts` exports from; their declarations name nothing of any other. */
const declared = ["types", "errors", "form", "client"];

/**
 * Writes the package's code, one minified ES module, and its declarations, one file too.
 * @throws when the code cannot be bundled or its types are wrong
 */
export async function build(outdir: string): Promise<void> {
  await rm(outdir, { recursive: true, force: true });
  const entrypoints = [join(here, "src", "index.ts")];
  await Bun.build({ entrypoints, outdir, target: "browser", format: "esm", minify: true });
  await writeFile(join(outdir, "index.d.ts"), await declarations());
}

async function declarations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "declarations-"));
  try {
    await $`${join(here, "..", "..", "node_modules", ".bin", "tsc")} -p ${here} --outDir ${folder}`.quiet();
    const texts = await Promise.all(declared.map((name) => readFile(join(folder, `${name}.d.ts`), "utf8")));
    return texts.map((text) => text.replace(/^(import .*|export \{\};)\n/gm, "")).join("");
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.main) await build(join(here, "dist"));
