import { chmod, copyFile, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { $ } from "bun";
import { describeThirdParty } from "./licenses.ts";

// Collects the files of the container's image in dist/image, for the Containerfile: the executable, the C
// library of this machine, and nothing else. Distroless images would bring certificates and time zones,
// which the runtime has itself.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const context = join(root, "dist", "image");

/** Files that the C library and the service read. */
const textFiles: Readonly<Record<string, string>> = {
  "etc/passwd": "root:x:0:0::/:/sbin/nologin\npds:x:65532:65532::/var/lib/pds:/sbin/nologin\n",
  "etc/group": "root:x:0:\npds:x:65532:\n",
  "etc/nsswitch.conf": "hosts: files dns\n",
  "etc/pds/pds.toml": "# Mount your settings here.\n",
};

async function add(from: string, to: string): Promise<void> {
  const path = join(context, "root", to);
  await mkdir(dirname(path), { recursive: true });
  await copyFile(from, path);
}

await rm(context, { recursive: true, force: true });
await mkdir(join(context, "volume", "pds"), { recursive: true });
await $`node scripts/run.js build --outfile=${join(context, "root", "usr", "bin", "pds")}`.cwd(root).quiet();
const executable = join(context, "root", "usr", "bin", "pds");
await chmod(executable, 0o755);
// The loader has a path of its own; the other libraries are found by their names.
for (const line of (await $`ldd ${executable}`.text()).split("\n")) {
  const [, path = ""] = line.match(/(?:=> |^\s+)(\/\S+) \(0x/) ?? [];
  if (path !== "") await add(path, path);
}
for (const [name, text] of Object.entries(textFiles)) await Bun.write(join(context, "root", name), text);
await add(join(root, "LICENSE"), "usr/share/doc/pds/LICENSE");
await Bun.write(join(context, "root/usr/share/doc/pds/THIRD_PARTY.md"), await describeThirdParty(root));
await add("/usr/share/doc/libc6/copyright", "usr/share/doc/libc6/copyright");
// Where a container gets its file systems and its names.
for (const name of ["proc", "sys", "dev", "tmp", "var/lib"]) {
  await mkdir(join(context, "root", name), { recursive: true });
}
// Whatever the umask is here.
await $`chmod -R u=rwX,go=rX ${context}`;
