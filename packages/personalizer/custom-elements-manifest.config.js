import { readFileSync } from "node:fs";

// The analyzer reads the class. Parts without declarations in it are in the tables of the
// README.
const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
const script = "dist/index.js";
const lifecycle = /^(connected|disconnected|adopted|attributeChanged|form\w+|connectedMove)Callback$/;

const isUsable = ({ name, privacy = "public", static: isStatic }) =>
  privacy === "public" && !isStatic && !lifecycle.test(name);

const plain = (text) => text.replaceAll("`", "");

/** The rows of the table whose head begins with the given cells. */
function tableOf(...head) {
  const [, rest] = readme.split(`| ${head.join(" | ")} |\n`);
  if (rest === undefined) throw new Error(`README.md has no table ${head.join(", ")}`);
  const lines = rest.split("\n").slice(1);
  const end = lines.findIndex((line) => !line.startsWith("|"));
  return lines.slice(0, end).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

const named = (rows, describe) => rows.map(([name, ...cells]) => ({ name: plain(name), ...describe(...cells) }));

const labels = () =>
  named(tableOf("`label-…`", "English"), (english) => ({ default: english })).map((label) => ({
    ...label,
    name: `label-${label.name}`,
  }));

const attributes = () => [
  ...named(tableOf("attribute", "default", "meaning"), (initial, description) => ({
    description,
    ...(initial !== "" && { default: plain(initial) }),
  })).filter(({ name }) => name !== "label-…"),
  ...labels(),
];

const parts = () =>
  tableOf("`::part()`", "element").flatMap(([names, description]) =>
    [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => ({ name, description })),
  );

const states = () => [...new Set([...readme.matchAll(/:state\(([\w-]+)\)/g)].map(([, name]) => name))];

/** Describes the element as it is shipped: a script that defines it. */
const shipped = {
  name: "shipped",
  packageLinkPhase({ customElementsManifest: manifest }) {
    const declared = manifest.modules.flatMap(({ declarations }) => declarations);
    const element = declared.find(({ name }) => name === "PersonalizationOptions");
    const { members, ...described } = element;
    const declaration = { name: element.name, module: script };
    manifest.modules = [
      {
        kind: "javascript-module",
        path: script,
        declarations: [
          {
            ...described,
            tagName: "personalization-options",
            customElement: true,
            superclass: { name: "HTMLElement" },
            members: members.filter(isUsable).map(({ inheritedFrom: _, ...member }) => member),
            attributes: attributes(),
            events: named(tableOf("event", "detail", "when"), (detail, description) => ({
              description: `${description} Detail: ${detail}`,
              type: { text: "CustomEvent" },
            })),
            slots: [{ name: "", description: "Shown until the options load, and if they cannot be loaded." }],
            cssProperties: named(tableOf("custom property", "default"), (description) => ({ description })),
            cssParts: parts(),
            cssStates: states().map((name) => ({ name })),
          },
        ],
        exports: [
          { kind: "js", name: element.name, declaration },
          { kind: "custom-element-definition", name: "personalization-options", declaration },
        ],
      },
    ];
  },
};

export default { globs: ["src/*.ts"], outdir: "dist", quiet: true, plugins: [shipped] };
