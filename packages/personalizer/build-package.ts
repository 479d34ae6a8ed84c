import { rm } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";

const here = import.meta.dir;
const outdir = join(here, "dist");
const programs = join(here, "..", "..", "node_modules", ".bin");

/**
 * A server has no elements, and imports the package without using it. The API is not next to a
 * script that was bundled into a page's own. Some pages have no origin, such as `about:srcdoc`.
 */
const banner = [
  "const HTMLElement = globalThis.HTMLElement ?? class {};",
  "const customElements = globalThis.customElements ?? { get: () => true };",
  'const scriptUrl = (globalThis.location?.origin.match(/^http.*/) ?? "http://localhost") + "/";',
].join("\n");

/** Bundlers find the second script by its name, and move it with the first. */
const packagedForm: Bun.BunPlugin = {
  name: "packaged form",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^\.\/form\.js$/ }, ({ path }) => ({ path, external: true }));
    onLoad({ filter: /\/import-form\.ts$/ }, () => ({
      loader: "js",
      contents: 'export const importForm = () => import("./form.js"); export const renewImport = () => {};',
    }));
  },
};

/**
 * Builds the package for npm: two modules, their declarations, and the custom elements manifest.
 * @throws when bundling or the analysis fails
 */
async function build(): Promise<void> {
  await rm(outdir, { recursive: true, force: true });
  const common = { outdir, target: "browser", format: "esm", minify: true, sourcemap: "linked" } as const;
  await Bun.build({ ...common, entrypoints: [join(here, "src", "form", "index.ts")], naming: "form.js" });
  await Bun.build({
    ...common,
    entrypoints: [join(here, "src", "index.ts")],
    plugins: [packagedForm],
    define: { "import.meta.url": "scriptUrl" },
    banner,
  });
  for (const name of ["index.d.ts", "react.d.ts", "vue.d.ts"]) {
    await Bun.write(join(outdir, name), Bun.file(join(here, "types", name)));
  }
  await $`${join(programs, "cem")} analyze`.cwd(here).quiet();
}

await build();
