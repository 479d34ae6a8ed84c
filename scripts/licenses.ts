import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** The shipped bundles, and the modules that they are made from. */
export const bundles = {
  executable: { entries: ["src/main.ts"], target: "bun" },
  client: { entries: ["packages/client/src/index.ts"], target: "browser" },
  widget: {
    entries: ["packages/personalizer/src/index.ts", "packages/personalizer/src/form/index.ts"],
    target: "browser",
  },
} as const;

/** Licenses that only ask for their text and their notices to be passed on. */
const permissive = ["0BSD", "Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The text of its license, and of its notices. */
  readonly text: string;
}

/**
 * Lists the packages whose code is in a bundle.
 * @param root folder of the project
 * @throws if a package has no text of a license, or another license than the known ones
 */
export async function listBundledPackages(root: string, bundle: keyof typeof bundles): Promise<BundledPackage[]> {
  const { entries, target } = bundles[bundle];
  const entrypoints = entries.map((entry) => join(root, entry));
  const { metafile } = await Bun.build({ entrypoints, target, root, metafile: true });
  const files = Object.keys(metafile?.inputs ?? {});
  if (files.length === 0) throw new Error(`${entries}: the bundler does not say what the bundle consists of`);
  // A package may have another version of a package in a folder of its own.
  const folders = files.flatMap((file) => file.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/)?.[0] ?? []);
  const found = await Promise.all([...new Set(folders)].map((folder) => readPackage(join(root, folder))));
  return found.toSorted((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
}

async function readPackage(folder: string): Promise<BundledPackage> {
  const { name, version, license } = await Bun.file(join(folder, "package.json")).json();
  if (!permissive.includes(license)) {
    throw new Error(`${name}: its license ${license} is not in the list of scripts/licenses.ts; read its terms first`);
  }
  const names = (await readdir(folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  if (names.length === 0) throw new Error(`${name}: it has no file with its license`);
  const texts = await Promise.all(names.map((file) => Bun.file(join(folder, file)).text()));
  return { name, version, license, text: texts.map((text) => text.trim()).join("\n\n") };
}

const introduction = `# Third-party software

Software of others in the executable, the client, and the widget, with its licenses. Pass this file on
with the executable.

The executable also contains the runtime: [Bun](https://bun.com), under the MIT license. Bun links
JavaScriptCore, tinycc, and other libraries, some of them under the LGPL; its
[license page](https://bun.com/docs/project/license) lists them, and says how to link them again.
`;

/** @returns the text of `THIRD_PARTY.md`, which everything that has the executable has, too */
export async function describeThirdParty(root: string): Promise<string> {
  const sections = [introduction];
  const texts = new Map<string, { readonly text: string; readonly names: string[] }>();
  for (const bundle of Object.keys(bundles) as (keyof typeof bundles)[]) {
    const packages = await listBundledPackages(root, bundle);
    const rows = packages.map(({ name, version, license }) => `| ${name} | ${version} | ${license} |\n`);
    const table = `| package | version | license |\n| --- | --- | --- |\n${rows.join("")}`;
    sections.push(`## In the ${bundle}\n\n${rows.length === 0 ? "No package of others.\n" : table}`);
    for (const { name, text } of packages) {
      const key = text.replace(/\s+/g, " ");
      const same = texts.get(key) ?? { text, names: [] };
      if (!same.names.includes(name)) same.names.push(name);
      texts.set(key, same);
    }
  }
  const licenses = [...texts.values()].map(({ text, names }) => `### ${names.join(", ")}\n\n${toCodeBlock(text)}`);
  return [...sections, "## Texts of the licenses\n", ...licenses].join("\n");
}

const toCodeBlock = (text: string) => `\`\`\`\`text\n${text.replace(/[ \t]+$/gm, "")}\n\`\`\`\`\n`;

// npm run build -- licenses
if (import.meta.main) {
  const root = Bun.fileURLToPath(new URL("..", import.meta.url));
  await Bun.write(join(root, "dist", "THIRD_PARTY.md"), await describeThirdParty(root));
}
