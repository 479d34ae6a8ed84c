import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { killOnExit } from "../support/kill-on-exit.ts";
import { root, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

// The files of the image as a read-only root, with its user, environment, and volume. A container
// is this and a network; only root may arrange it.

const canContain =
  process.getuid?.() === 0 &&
  process.platform === "linux" &&
  (await $`unshare -m -p -f true`.quiet().nothrow()).exitCode === 0;
if (!canContain) process.stderr.write("skipped: only root on Linux can start a container\n");

const files = join(root, "dist", "image", "root");
const containerfile = readFileSync(join(root, "Containerfile"), "utf8");
const [, user = ""] = containerfile.match(/^USER (\d+):\1$/m) ?? [];
const [, folder = ""] = containerfile.match(/^WORKDIR (\S+)$/m) ?? [];
const [, variables = ""] = containerfile.match(/^ENV (.*)$/m) ?? [];

/** Mounts the root, the volume, and the settings, and runs the program as process 1. */
const script = `set -e
  mount -t tmpfs none /mnt && mkdir /mnt/root
  mount --bind "$1" /mnt/root && mount -o remount,bind,ro /mnt/root
  mount -t tmpfs -o uid=${user},gid=${user},mode=700 none /mnt/root${folder}
  mount -t proc proc /mnt/root/proc
  mount -t tmpfs none /mnt/root/dev
  for device in null zero random urandom; do
    touch /mnt/root/dev/$device && mount --bind /dev/$device /mnt/root/dev/$device
  done
  mount --bind "$2/pds.toml" /mnt/root/etc/pds/pds.toml
  cp "$2/products.ndjson" /mnt/root${folder}
  shift 2
  exec env --ignore-environment ${variables} PORT=0 ADMIN_PORT=0 setpriv --clear-groups \\
    unshare --root=/mnt/root --wd=${folder} --setgid=${user} --setuid=${user} /usr/bin/pds "$@"`;

const settings = await temporaryFolder();
await writeFiles(settings, {
  "pds.toml": '[jobs.catalog-import]\nsource = ["products.ndjson"]\nschedule = "@yearly"\n',
  "products.ndjson": await Bun.file(join(root, "sample", "products.ndjson")).text(),
});

function run(...args: string[]) {
  const command = ["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", script, "sh", files, settings, ...args];
  return Bun.spawn(command, { stdio: ["ignore", "pipe", "pipe"] });
}

describe.skipIf(!canContain)("the image", () => {
  beforeAll(async () => {
    await $`node scripts/run.js image --files`.cwd(root).quiet();
    // Where the volume is mounted.
    await $`mkdir ${join(files, folder)}`;
  });
  afterAll(async () => {
    await $`rm -rf ${join(root, "dist", "image")}`;
  });

  test("has at most 130 MB, and no file that its user may change", async () => {
    expect(Number((await $`du --summarize --bytes ${files}`.text()).split("\t")[0])).toBeLessThan(130e6);
    expect(await $`find ${files} -not -type l ${["(", "-uid", user, "-o", "-perm", "/o+w", ")"]}`.text()).toBe("");
  });

  test("has everything that the program needs", async () => {
    const child = run("--version");
    expect([await child.stderr.text(), await child.stdout.text()]).toEqual([
      "",
      expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    ]);
  });

  test("serves what a job imports, as its user, and stops on SIGTERM", async () => {
    const child = run("serve");
    const log = child.stderr.text();
    let printed = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      printed += chunk;
      if (printed.includes("Admin")) break;
    }
    // The service itself: unshare ignores SIGTERM, and a change of the user ends --kill-child.
    const [pid = ""] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ");
    killOnExit({ pid: Number(pid), exited: child.exited }, "TERM");
    const [, port = ""] = printed.match(/^Public +http:\/\/\S+:(\d+)\//m) ?? [];
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    await until("the products are imported", async () => (await get("/api/v1/products/6781204660224")).ok, 60_000);

    expect(readFileSync(`/proc/${pid}/status`, "utf8")).toMatch(
      new RegExp(`^Uid:\\t${user}\\t${user}\\t${user}\\t${user}$`, "m"),
    );
    // The health check of the image, in its namespaces.
    const inside = ["--target", pid, "--mount", "--pid", "--root", `--wd=/proc/${pid}/cwd`];
    const health = Bun.spawn(["nsenter", ...inside, "/usr/bin/pds", "health"], {
      env: { PATH: process.env.PATH, PORT: port, HOST: "0.0.0.0" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    expect([await health.stderr.text(), await health.stdout.text()]).toEqual(["", '200 {"status":"ok"}\n']);

    process.kill(Number(pid), "SIGTERM");
    expect(await child.exited).toBe(0);
    expect(await log).toContain('"msg":"stopped"');
  });
});
