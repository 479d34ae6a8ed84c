import { expect, test } from "bun:test";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root, temporaryFolder } from "./support/pds.ts";

/** Stands in for npm: removes the packages, and is slow to install them, as `npm ci` is. */
const installer = `
const { appendFileSync, chmodSync, mkdirSync, rmSync, writeFileSync } = require("node:fs");
appendFileSync("installations", process.argv.slice(2).join(" ") + "\\n");
rmSync("node_modules", { recursive: true, force: true });
setTimeout(() => {
  mkdirSync("node_modules/bun/bin", { recursive: true });
  writeFileSync("node_modules/bun/bin/bun.exe", "#!/bin/sh\\necho started\\n");
  chmodSync("node_modules/bun/bin/bun.exe", 0o755);
  writeFileSync("node_modules/bun/package.json", '{"version":"1.0.0"}');
}, 1000);
`;

async function createClone() {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "scripts"));
  await copyFile(join(root, "scripts", "run.js"), join(folder, "scripts", "run.js"));
  await writeFile(join(folder, "package.json"), '{"type":"module","devDependencies":{}}');
  await writeFile(join(folder, "package-lock.json"), '{"packages":{"node_modules/bun":{"version":"1.0.0"}}}');
  await mkdir(join(folder, "npm"));
  await writeFile(join(folder, "npm", "npm.cjs"), installer);
  const manager = join(folder, "npm", "npm");
  await writeFile(manager, `#!/bin/sh\nexec node ${join(folder, "npm", "npm.cjs")} "$@"\n`, { mode: 0o755 });
  const run = async (task: string) => {
    const child = Bun.spawn(["node", "scripts/run.js", task], {
      cwd: folder,
      env: { PATH: process.env.PATH, npm_execpath: manager },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { stdout, stderr, code };
  };
  const countInstallations = async () =>
    (await Bun.file(join(folder, "installations")).text()).trim().split("\n").length;
  return { folder, run, countInstallations };
}

test("tasks that start at the same time in a fresh clone install once, and both run", async () => {
  const { run, countInstallations } = await createClone();
  for (const { stdout, code } of await Promise.all([run("pds"), run("platform"), run("start")])) {
    expect({ stdout, code }).toEqual({ stdout: "started\n", code: 0 });
  }
  expect(await countInstallations()).toBe(1);
});

test("an interrupted installation does not block the next one", async () => {
  const { folder, run, countInstallations } = await createClone();
  const gone = Bun.spawn(["true"]);
  await gone.exited;
  await writeFile(join(folder, ".installing"), `${gone.pid}`);
  expect(await run("pds")).toMatchObject({ stdout: "started\n", code: 0 });
  expect(await countInstallations()).toBe(1);
});

test("scripts need nothing of the test runner", async () => {
  const scripts = [...new Bun.Glob("{scripts,bench}/*.ts").scanSync(root)];
  expect(scripts).toContain("scripts/pictures.ts");
  for (const script of scripts) {
    const { outputs } = await Bun.build({ entrypoints: [join(root, script)], target: "bun", packages: "external" });
    for (const output of outputs) expect(await output.text(), script).not.toContain('from "bun:test"');
  }
});
