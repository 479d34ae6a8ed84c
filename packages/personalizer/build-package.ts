import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";

const here = import.meta.dir;
const outdir = join(here, "dist");
const programs = join(here, "..", "..", "node_modules", ".bin");

/** What `dist/index.d.ts` exports, with everything that it refers to. */
const exported = ["PersonalizationOptions", "PersonalizationValue", "Labels"];

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
 * @throws when bundling, type checking, or the analysis fails
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
  const events = await readFile(join(here, "types", "events.d.ts"), "utf8");
  await Bun.write(join(outdir, "index.d.ts"), `${await declarations()}\n${events}`);
  for (const name of ["react.d.ts", "vue.d.ts"]) {
    await Bun.write(join(outdir, name), Bun.file(join(here, "types", name)));
  }
  await $`${join(programs, "cem")} analyze`.cwd(here).quiet();
}

/** The exported declarations of the source, and those that they need, as one text. */
async function declarations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "declarations-"));
  try {
    const options = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--rootDir", join(here, "..")];
    await $`${join(programs, "tsc")} -p ${here} --outDir ${folder} ${options}`.quiet();
    const files = (await readdir(folder, { recursive: true }))
      .filter((file) => /src\/(form\/)?[^/]+\.d\.ts$/.test(file))
      .sort();
    const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
    return select(texts.flatMap(toStatements));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The top-level statements of a declaration file, each with its comment. */
const toStatements = (text: string) => text.split(/(?<!\*\/)\n(?=\/\*\*|export |declare |interface |type |import )/);

function select(statements: readonly string[]): string {
  const nameOf = (statement: string) =>
    statement.match(/^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|const|function) (\w+)/m)?.[1];
  const found = new Map(statements.map((statement) => [nameOf(statement), statement]));
  const needed = new Set<string>(exported);
  for (const name of needed) {
    const statement = found.get(name);
    if (statement === undefined) throw new Error(`The source has no declaration of ${name}`);
    const code = statement.replace(/\/\*\*.*?\*\//gs, "");
    for (const [word] of code.matchAll(/\b\w+\b/g)) if (found.has(word)) needed.add(word);
  }
  const texts = [...needed].map((name) => {
    const text = `${found.get(name)}`.trim();
    return exported.includes(name) ? text : text.replace(/^export /m, "");
  });
  return [...texts, "export {};", ""].join("\n");
}

await build();
