import { chmod, copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";
import { describeThirdParty } from "./licenses.ts";
import { publishedPackages } from "./packages.ts";
import { listComponents } from "./release/components.ts";
import { buildDebianPackage } from "./release/debian-package.ts";

// Builds everything that a release has, from a clean checkout of its tag, into dist/VERSION.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));

/** The only system on which the executable has been started; its name in the runtime is `bun-linux-x64`. */
const target = "linux-x64";

function fail(message: string): never {
  process.stderr.write(`release: ${message}\n`);
  process.exit(1);
}

function parseVersion([version, ...rest]: readonly string[]): string {
  if (version === undefined || rest.length > 0) fail("usage: npm run release -- VERSION");
  // Debian would sort 1.0.0-rc.1 after 1.0.0, and npm would make it the latest.
  if (!/^\d+\.\d+\.\d+$/.test(version)) fail(`expected a version such as 1.2.3, not ${version}`);
  return version;
}

/** Archives and packages need them, and some take minutes to reach. */
function checkTools(): void {
  const missing = ["tar", "gzip", "dpkg-deb", "sha256sum"].filter((tool) => Bun.which(tool) === null);
  if (missing.length > 0) fail(`these programs are missing: ${missing.join(", ")}`);
}

/** @returns the time of the commit in seconds, which is that of all files */
async function checkTag(version: string): Promise<string> {
  const folders = ["", ...publishedPackages.map((name) => `packages/${name}/`)];
  for (const path of folders.map((folder) => `${folder}package.json`)) {
    const own = (await Bun.file(join(root, path)).json()).version;
    if (own !== version) fail(`the version in ${path} is ${own}, not ${version}`);
  }
  const git = $.cwd(root);
  const changes = await git`git status --porcelain`.text();
  if (changes !== "") fail(`there are changes that are not committed:\n${changes.trimEnd()}`);
  const tags = (await git`git tag --points-at HEAD`.text()).split("\n");
  if (!tags.includes(`v${version}`)) fail(`the tag v${version} does not point at this commit`);
  return (await git`git log -1 --format=%ct`.text()).trim();
}

async function print(...command: string[]): Promise<string> {
  return await $`${process.execPath} src/main.ts ${command}`.cwd(root).text();
}

/** Writes what every archive has beside the executable. */
async function writeCommonFiles(folder: string): Promise<void> {
  await mkdir(join(folder, "completions"), { recursive: true });
  for (const name of ["LICENSE", "CHANGELOG.md"]) await copyFile(join(root, name), join(folder, name));
  await Bun.write(join(folder, "THIRD_PARTY.md"), await describeThirdParty(root));
  const shells = { bash: "pds.bash", zsh: "_pds", fish: "pds.fish" };
  for (const [shell, name] of Object.entries(shells)) {
    await Bun.write(join(folder, "completions", name), await print("completions", shell));
  }
}

const version = parseVersion(process.argv.slice(2));
checkTools();
const time = await checkTag(version);
// Tools for archives take the time from here, and the order of names from the locale.
Object.assign(process.env, { SOURCE_DATE_EPOCH: time, TZ: "UTC", LC_ALL: "C" });

const output = join(root, "dist", version);
const staging = join(output, ".staging");
await rm(output, { recursive: true, force: true });
await writeCommonFiles(join(staging, "common"));

const name = `pds-${version}-${target}`;
const folder = join(staging, name);
const executable = join(folder, "pds");
await $`cp -R ${join(staging, "common")} ${folder}`;
await $`node scripts/run.js build --target=bun-${target} --outfile=${executable}`.cwd(root).quiet();
await chmod(executable, 0o755);
await $`chmod -R u=rwX,go=rX ${folder}`;
await $`find ${folder} -exec touch --no-dereference --date=@${time} {} +`;
const archive = `${name}.tar`;
await $`tar --create --file=${archive} --format=gnu --sort=name --owner=0 --group=0 --numeric-owner ${name}`.cwd(
  staging,
);
await $`gzip --no-name ${archive} && mv ${archive}.gz ${output}`.cwd(staging);
await buildDebianPackage({ version, folder, staging, output });

await Bun.write(join(output, `pds-${version}.cdx.json`), await listComponents(root, time));
await rm(staging, { recursive: true });
const names = (await readdir(output)).sort();
await $`sha256sum ${names} > SHA256SUMS`.cwd(output);
process.stdout.write(`dist/${version}: ${[...names, "SHA256SUMS"].join(", ")}\n`);
