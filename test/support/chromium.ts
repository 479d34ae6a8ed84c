import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { type Browser, chromium } from "playwright-core";

// Scripts use this file too, so it must not import what needs the test runner.
const modules = Bun.fileURLToPath(new URL("../../node_modules", import.meta.url));
const chromiumPackage = join(modules, "@sparticuz", "chromium");

/** The program in the package from npm. Elsewhere, `npx playwright-core install chromium` installs one. */
const isPackaged = process.platform === "linux" && process.arch === "x64";

/** Launches a real Chromium that can only reach this machine. */
export async function launchChromium(): Promise<Browser> {
  const args = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"];
  if (!isPackaged) return await chromium.launch({ args });
  const folder = await unpackedChromium();
  return await chromium.launch({
    executablePath: join(folder, "chromium"),
    args,
    env: { HOME: tmpdir(), LD_LIBRARY_PATH: join(folder, "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") },
  });
}

/**
 * Folder of the Chromium from npm, with libraries and a font for machines without them. It is
 * unpacked once per installation; of several test files that unpack it at the same time, the first
 * to finish wins.
 */
async function unpackedChromium(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(chromiumPackage, "package.json"), "utf8"));
  const cache = join(modules, ".cache");
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(`${folder}-`);
  try {
    await writeFile(join(unfinished, "chromium"), await unpacked("chromium.br"), { mode: 0o755 });
    for (const name of ["al2023.tar.br", "fonts.tar.br"]) {
      await new Bun.Archive(await unpacked(name)).extract(unfinished);
    }
    await writeFile(
      join(unfinished, "fonts.conf"),
      `<fontconfig>
        <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
        <dir>${join(folder, "fonts")}</dir>
        <cachedir>${join(folder, "fonts-cache")}</cachedir>
      </fontconfig>`,
    );
    await rename(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return folder;
}

async function unpacked(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await promisify(brotliDecompress)(await readFile(join(chromiumPackage, "bin", name))));
}
