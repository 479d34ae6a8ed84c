import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { $ } from "bun";
import packageJson from "../package.json" with { type: "json" };
import { packPackages, publishedPackages } from "./packages.ts";

// Publishes the packages of this version to npm, where a version can neither be replaced nor removed.
// So that an interrupted release can be repeated, it skips those that are published with this content.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));

/** @returns the checksum of what the registry has; undefined if it does not have this version */
async function findPublished(specifier: string): Promise<string | undefined> {
  const { exitCode, stdout, stderr } = await $`npm view ${specifier} dist.integrity --json`.quiet().nothrow();
  const printed = stdout.toString().trim();
  if (exitCode === 0) return printed === "" ? undefined : JSON.parse(printed);
  if (/\bE404\b/.test(`${printed}${stderr}`)) return undefined;
  throw new Error(`cannot ask the registry for ${specifier}:\n${stderr.toString().trimEnd()}`);
}

async function publish(archive: string): Promise<void> {
  const { exitCode, stderr } = await $`npm publish ${archive} --access public`.quiet().nothrow();
  if (exitCode !== 0) throw new Error(`cannot publish ${basename(archive)}:\n${stderr.toString().trimEnd()}`);
}

async function publishPackages(folder: string): Promise<void> {
  const archives = await packPackages(folder);
  const packages = await Promise.all(
    publishedPackages.map(async (path) => {
      const { name } = await Bun.file(join(root, "packages", path, "package.json")).json();
      const specifier = `${name}@${packageJson.version}`;
      const archive = archives.find((file) => basename(file) === `${name}-${packageJson.version}.tgz`);
      if (archive === undefined) throw new Error(`set the version ${packageJson.version} in packages/${path}`);
      const integrity = `sha512-${Bun.SHA512.hash(await Bun.file(archive).bytes(), "base64")}`;
      return { specifier, archive, integrity, published: await findPublished(specifier) };
    }),
  );
  // Before any is published, since nothing can be taken back.
  const other = packages.find(({ published, integrity }) => published !== undefined && published !== integrity);
  if (other !== undefined) {
    throw new Error(`${other.specifier} is published with other content; release another version`);
  }
  for (const { specifier, archive, published } of packages) {
    if (published === undefined) await publish(archive);
    process.stdout.write(`${specifier} ${published === undefined ? "is published" : "was published before"}\n`);
  }
}

const folder = await mkdtemp(join(tmpdir(), "pds-packages-"));
try {
  await publishPackages(folder);
} catch (error) {
  process.stderr.write(`release:packages: ${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true });
}
