import { expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";
import { installPackages } from "../support/installed-packages.ts";
import { root, temporaryFolder, writeFiles } from "../support/pds.ts";
import { readRecipe } from "../support/recipes.ts";

const { folder, files } = await installPackages();

const { version } = await Bun.file(join(root, "package.json")).json();

const read = async (path: string) => await Bun.file(join(folder, "node_modules", path)).json();

/** What a program prints as JSON on Node. */
async function runOnNode(name: string, program: string): Promise<unknown> {
  const [file = ""] = await writeFiles(folder, { [name]: program });
  const { exitCode, stdout, stderr } = await $`node ${file}`.cwd(folder).nothrow().quiet();
  expect(`${stderr}`).toBe("");
  expect(exitCode).toBe(0);
  return JSON.parse(`${stdout}`);
}

test("the archives have code, source maps, types, license, and README, and nothing else", () => {
  const [client, personalizer] = files;
  const common = ["LICENSE", "README.md", "package.json", "dist/index.d.ts", "dist/index.js", "dist/index.js.map"];
  const toPaths = (names: string[]) => names.map((name) => `package/${name}`).sort();
  expect(client).toEqual(toPaths(common));
  const types = ["dist/react.d.ts", "dist/vue.d.ts"];
  const ofWidget = ["dist/custom-elements.json", "dist/form.js", "dist/form.js.map", ...types];
  expect(personalizer).toEqual(toPaths([...common, ...ofWidget]));
});

test.each(["product-data-client", "product-data-personalizer"])(
  "%s names its license and its repository, and needs no other package",
  async (name) => {
    const { license, repository, dependencies } = await read(`${name}/package.json`);
    expect(license).toBe("MIT");
    expect(repository).toMatchObject({ type: "git", url: expect.stringMatching(/^git\+https:/) });
    expect(dependencies).toBeUndefined();
    const { sources, sourcesContent } = await read(`${name}/dist/index.js.map`);
    expect(sources.length).toBeGreaterThan(5);
    expect(sourcesContent).toHaveLength(sources.length);
  },
);

test("the client reads a service from Node", async () => {
  using service = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json({ histories: [] }) });
  const program = `
    import { createClient } from "product-data-client";
    console.log(JSON.stringify(await createClient("${service.url}").histories("desc")));`;
  expect(await runOnNode("read.js", program)).toEqual({ histories: [] });
});

const consumer = `
import { createClient, type Personalization, toForm } from "product-data-client";
import { type Labels, PersonalizationOptions, type PersonalizationEvents } from "product-data-personalizer";

const { product } = await createClient("https://pds.example", { bigints: true }).product("1");
product.id satisfies number | bigint;
// @ts-expect-error: an ID is missing
createClient("https://pds.example").product();
export const forms = (options: Personalization) => toForm(options).map(({ style_code }) => style_code);

const element = document.querySelector("personalization-options");
if (element instanceof PersonalizationOptions) element.sku = null;
element?.value?.lines.map(({ label }) => label);
// @ts-expect-error: what the shopper chose cannot be set
if (element) element.value = null;
export const german: Partial<Labels> = { title: "Gravur", texts: { EMBMON3: "Monogramm" } };
export const isComplete = ({ detail }: PersonalizationEvents["change"]) => detail.complete;
element?.addEventListener("change", ({ detail }) => detail.value?.lines.length);
element?.addEventListener("keydown", ({ key }) => key.length);
element?.removeEventListener("error", ({ detail }) => detail.reason);
// @ts-expect-error: the event has no such detail
element?.addEventListener("ready", ({ detail }) => detail.complete);
`;
const reactConsumer = `
import { type PersonalizationEvents, PersonalizationOptions } from "product-data-personalizer/react";

export const isDefined = customElements.get("personalization-options") === PersonalizationOptions;
export const count = ({ detail }: PersonalizationEvents["ready"]) => detail.styles;
export const options = (
  <personalization-options
    sku="1"
    required
    labels={{ title: "Gravur" }}
    texts={{ EMBMON3: "Monogramm" }}
    cart="/cart.js"
    className="options"
    onready={({ detail }) => detail.styles.toFixed()}
    onerror={({ detail }) => detail.reason satisfies string}
  >
    Call us.
  </personalization-options>
);
// @ts-expect-error: a SKU is a text
export const wrong = <personalization-options sku={1} />;
`;
const vueConsumer = `
import type { PersonalizationValue } from "product-data-personalizer/vue";
import type { GlobalComponents } from "vue";

type Options = InstanceType<GlobalComponents["personalization-options"]>;
export const linesOf = ({ lines }: PersonalizationValue) => lines.length;
export const props: Options["$props"] = {
  sku: "1",
  labels: { title: "Gravur" },
  class: "options",
  onReady: ({ detail }) => detail.styles.toFixed(),
  onPersonalizerCartProblem: ({ detail }) => Object.keys(detail.properties),
};
// @ts-expect-error: a SKU is a text
export const wrong: Options["$props"] = { sku: 1 };
`;

test.each([
  ["bundler", "esnext"],
  ["nodenext", "nodenext"],
])("the types work with the module resolution %s", async (moduleResolution, module) => {
  const compilerOptions = {
    ...{ module, moduleResolution, target: "es2022", lib: ["es2022", "dom"], types: [], jsx: "react-jsx" },
    ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: false },
  };
  const { files: guide } = await readRecipe("personalize-with-react", "https://pds.example");
  // The guide's imports are for bundlers.
  const [config = ""] = await writeFiles(folder, {
    [`tsconfig.${module}.json`]: JSON.stringify({
      compilerOptions,
      include: moduleResolution === "bundler" ? ["consumer*", "p*.tsx"] : ["consumer*"],
    }),
    ...guide,
    "consumer.ts": consumer,
    "consumer-react.tsx": reactConsumer,
    "consumer-vue.ts": vueConsumer,
  });
  const { stdout } = await $`${join(root, "node_modules", ".bin", "tsc")} -p ${config}`.nothrow().quiet();
  expect(`${stdout}`).toBe("");
});

test("a page without an origin can import the element", async () => {
  const program = `
    globalThis.location = { origin: "null" };
    const { PersonalizationOptions } = await import("product-data-personalizer");
    console.log(JSON.stringify(PersonalizationOptions.name));`;
  expect(await runOnNode("opaque.js", program)).toBeString();
});

test("servers of React and Vue can import and render the element", async () => {
  const program = `
    import { PersonalizationOptions } from "product-data-personalizer";
    import { createElement } from "react";
    import { renderToString } from "react-dom/server";
    import { createSSRApp, h } from "vue";
    import { renderToString as renderVue } from "vue/server-renderer";

    const labels = { title: "Gravur" };
    const react = createElement("personalization-options", { sku: "1", required: true, labels, onready() {} }, "Call us.");
    const vue = h("personalization-options", { sku: "1", required: "", ".labels": labels, onReady() {} }, "Call us.");
    console.log(JSON.stringify({
      observed: PersonalizationOptions.observedAttributes,
      react: renderToString(react),
      vue: await renderVue(createSSRApp({ render: () => vue })),
    }));`;
  const { observed, react, vue } = (await runOnNode("render.js", program)) as Record<"react" | "vue", string> & {
    observed: string[];
  };
  const rendered = '<personalization-options sku="1" required="">Call us.</personalization-options>';
  expect([react, vue.replace(" required>", ' required="">')]).toEqual([rendered, rendered]);

  // The manifest is made from the class and the README: it must have every attribute.
  const [{ path, declarations, exports }] = (await read("product-data-personalizer/dist/custom-elements.json")).modules;
  expect(files[1]).toContain(`package/${path}`);
  const [{ attributes, events, members, cssParts, cssProperties, cssStates }] = declarations;
  const named = (list: { name: string }[]) => list.map(({ name }) => name);
  expect(named(attributes)).toEqual(expect.arrayContaining([...observed, "disabled"]));
  expect(named(events)).toEqual(expect.arrayContaining(["ready", "change", "invalid", "error"]));
  expect(named(members)).toEqual(expect.arrayContaining(["sku", "labels", "value", "reportValidity", "reload"]));
  expect(named(cssParts)).toContain("summary");
  expect(named(cssProperties)).toContain("--personalization-accent");
  expect(named(cssStates)).toContain("ready");
  expect(exports[1]).toMatchObject({ kind: "custom-element-definition", name: "personalization-options" });
});

test("the archives do not depend on the umask, or on the modes of the files in the checkout", async () => {
  const readme = join(root, "packages", "client", "README.md");
  const pack = async (umask: string) => {
    const program = `const { packPackages } = await import("./scripts/packages.ts");
      const archives = await packPackages(${JSON.stringify(await temporaryFolder())});
      for (const path of archives) console.log(Bun.SHA512.hash(await Bun.file(path).bytes(), "hex"));`;
    return await $`sh -c ${`umask ${umask}; exec "$0" -e "$1"`} ${process.execPath} ${program}`.cwd(root).text();
  };
  const first = await pack("022");
  await chmod(readme, 0o600);
  try {
    expect(await pack("077")).toBe(first);
  } finally {
    await chmod(readme, 0o644);
  }
});

/** What npm needs of a registry to publish: a document for each package. */
interface Published {
  readonly name: string;
  readonly versions: Record<string, { readonly dist: { readonly integrity: string } }>;
}

/** A registry that keeps what is published, and refuses a version that it has, as npm's does. */
function startRegistry() {
  const packages = new Map<string, Published>();
  const refused = new Set<string>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const name = new URL(request.url).pathname.slice(1);
      if (request.method === "GET") {
        return packages.has(name) ? Response.json(packages.get(name)) : Response.json({}, { status: 404 });
      }
      if (packages.has(name) || refused.has(name)) return Response.json({ error: "refused" }, { status: 403 });
      packages.set(name, (await request.json()) as Published);
      return Response.json({ success: true }, { status: 201 });
    },
  });
  return { packages, refused, port: server.port, [Symbol.asyncDispose]: () => server.stop(true) };
}

test("publishing again after an interruption publishes the rest, and no other content", async () => {
  await using registry = startRegistry();
  const address = `127.0.0.1:${registry.port}`;
  const [settings = ""] = await writeFiles(await temporaryFolder(), {
    ".npmrc": `registry=http://${address}/\n//${address}/:_authToken=token\nfetch-retries=0\n`,
  });
  const publish = async () => {
    const env = { ...process.env, NPM_CONFIG_USERCONFIG: settings, npm_config_registry: `http://${address}/` };
    const { exitCode, stdout, stderr } = await $`${process.execPath} scripts/publish.ts`
      .cwd(root)
      .env(env)
      .quiet()
      .nothrow();
    return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
  };
  const names = ["product-data-client", "product-data-personalizer"] as const;
  registry.refused.add(names[1]);
  expect(await publish()).toEqual({
    exitCode: 1,
    stdout: `${names[0]}@${version} is published\n`,
    stderr: expect.stringContaining(`cannot publish ${names[1]}-${version}.tgz:\n`),
  });
  registry.refused.clear();
  const again = await publish();
  expect(again).toEqual({
    exitCode: 0,
    stdout: `${names[0]}@${version} was published before\n${names[1]}@${version} is published\n`,
    stderr: "",
  });
  expect([...registry.packages.keys()].toSorted()).toEqual([...names]);

  registry.packages.delete(names[0]);
  const { versions = {} } = registry.packages.get(names[1]) ?? {};
  Object.assign(versions[version]?.dist ?? {}, { integrity: "sha512-other" });
  expect(await publish()).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `release:packages: ${names[1]}@${version} is published with other content; release another version\n`,
  });
  expect([...registry.packages.keys()]).toEqual([names[1]]);
});
