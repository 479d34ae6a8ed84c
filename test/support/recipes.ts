import { join } from "node:path";
import type { BunPlugin } from "bun";
import { compileScript, parse } from "vue/compiler-sfc";
import { root } from "./pds.ts";

/** The code of a guide in `docs/how-to/`, of which the first line may name a file. */
export interface Recipe {
  /** Text of the only block in a language. */
  only(language: string): string;
  /** Blocks whose first line is a comment with a file's name, by that name. */
  readonly files: Readonly<Record<string, string>>;
}

/** @param origin of the service, which the guide calls `https://pds.example` */
export async function readRecipe(name: string, origin: string): Promise<Recipe> {
  const markdown = await Bun.file(join(root, "docs", "how-to", `${name}.md`)).text();
  const blocks = [...markdown.matchAll(/^( *)```(\w+)\n(.*?)^\1```\n/gms)].map(
    ([, indent = "", language = "", text = ""]) => ({
      language,
      text: text.replace(new RegExp(`^${indent}`, "gm"), "").replaceAll("https://pds.example", origin),
    }),
  );
  const named = blocks.flatMap(({ text }) => {
    const [, file] = text.match(/^(?:\/\/|<!--) ([\w.-]+\.\w+)/) ?? [];
    return file === undefined ? [] : [[file, text] as const];
  });
  return {
    files: Object.fromEntries(named),
    only(language) {
      const [block, ...others] = blocks.filter((each) => each.language === language);
      if (block === undefined || others.length > 0) throw new Error(`${name}.md: not one block in ${language}`);
      return block.text;
    },
  };
}

/** Replaces the outputs of a Liquid template. @throws Error for one that the test does not know */
export const renderLiquid = (template: string, values: Readonly<Record<string, string>>) =>
  template.replace(/\{\{ (.*?) \}\}/g, (_, expression: string) => {
    const value = values[expression];
    if (value === undefined) throw new Error(`The test has no value for the Liquid output ${expression}`);
    return value;
  });

type IsCustomElement = (tag: string) => boolean;

/** The option that a recipe's `vite.config.ts` has for the compiler of templates. */
async function readIsCustomElement(folder: string): Promise<IsCustomElement> {
  const built = await bundle(join(folder, "vite.config.ts"), "bun", [
    {
      name: "vite",
      setup(build) {
        build.onResolve({ filter: /^vite$|^@vitejs/ }, ({ path }) => ({ path, namespace: "vite" }));
        build.onLoad({ filter: /.*/, namespace: "vite" }, () => ({
          contents: "export const defineConfig = (config) => config; export default (options) => options;",
          loader: "js",
        }));
      },
    },
  ]);
  const file = join(folder, "vite.config.built.js");
  await Bun.write(file, built);
  const { default: config } = await import(file);
  return config.plugins[0].template.compilerOptions.isCustomElement;
}

/** Compiles Vue's components as Vite does. */
export async function vueCompiler(folder: string): Promise<BunPlugin> {
  const isCustomElement = await readIsCustomElement(folder);
  return {
    name: "vue",
    setup(build) {
      build.onLoad({ filter: /\.vue$/ }, async ({ path }) => {
        const compilerOptions = { isCustomElement };
        const source = await Bun.file(path).text();
        const { descriptor } = parse(source, { filename: path, templateParseOptions: compilerOptions });
        const templateOptions = { compilerOptions };
        const { content } = compileScript(descriptor, { id: "recipe", inlineTemplate: true, templateOptions });
        return { contents: content, loader: "ts" };
      });
    },
  };
}

/** Bundles a module with what it imports. */
export async function bundle(entry: string, target: "browser" | "bun", plugins: BunPlugin[] = []): Promise<string> {
  const define = {
    "process.env.NODE_ENV": '"development"',
    __VUE_OPTIONS_API__: "true",
    __VUE_PROD_DEVTOOLS__: "false",
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "true",
  };
  const { outputs } = await Bun.build({ entrypoints: [entry], target, format: "esm", plugins, define });
  return await (outputs[0]?.text() ?? Promise.reject(new Error(`${entry}: no output`)));
}
