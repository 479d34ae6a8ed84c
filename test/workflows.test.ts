import { expect, test } from "bun:test";
import { join } from "node:path";
import { root } from "./support/pds.ts";

interface Workflow {
  readonly on: unknown;
  readonly permissions: unknown;
  readonly jobs: Record<string, { readonly steps: readonly { readonly run?: string }[] }>;
}

const { scripts } = await Bun.file(join(root, "package.json")).json();
const folder = join(root, ".github", "workflows");

test.each([...new Bun.Glob("*.yml").scanSync(folder)])("the workflow %s runs commands that exist", async (file) => {
  const { on, permissions, jobs } = Bun.YAML.parse(await Bun.file(join(folder, file)).text()) as Workflow;
  expect(on).toBeDefined();
  // Each job gets more only where it needs it.
  expect(permissions).toEqual({ contents: "read" });
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = "" }) => run));
  const names = commands.flatMap((command) =>
    [...command.matchAll(/npm (?:run )?(?!ci\b|pkg\b)([\w:-]+)/g)].map(([, name = ""]) => name),
  );
  expect(names.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test("the actions of workflows are pinned, since a tag can be moved", async () => {
  const texts = await Promise.all(
    [...new Bun.Glob("*.yml").scanSync(folder)].map((file) => Bun.file(join(folder, file)).text()),
  );
  const actions = texts.flatMap((text) => [...text.matchAll(/uses: (.*)/g)].map(([, action = ""]) => action));
  expect(actions).not.toBeEmpty();
  expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
});
