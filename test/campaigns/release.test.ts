import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { $ } from "bun";
import { listBundledPackages } from "../../scripts/licenses.ts";
import { isCampaign, root, temporaryFolder, writeFiles } from "../support/pds.ts";

// A release of this version, opened piece by piece.

const { version } = await Bun.file(join(root, "package.json")).json();
const canPackage = Bun.which("dpkg-deb") !== null;

/** Runs commands that find a copy of this machine, which no other process sees, in `/mnt/root`. */
async function inCopy(commands: string, ...args: string[]): Promise<{ code: number; stdout: string }> {
  const script = `set -e
    mount -t tmpfs none /mnt && mkdir /mnt/up /mnt/work /mnt/root
    mount -t overlay none -o lowerdir=/,upperdir=/mnt/up,workdir=/mnt/work /mnt/root
    ${commands}`;
  const { exitCode, stdout } = await $`unshare -m sh -c ${script} sh ${args}`.quiet().nothrow();
  return { code: exitCode, stdout: stdout.toString() };
}

/** Only root may install a package. */
const canInstall = canPackage && process.getuid?.() === 0 && (await inCopy("")).code === 0;
const boot = "systemd-nspawn --quiet --directory=/mnt/root --register=no --keep-unit --private-network";
const canBoot = canInstall && (await inCopy(`${boot} true </dev/null >/dev/null`)).code === 0;
if (!canBoot) process.stderr.write("skipped: systemd cannot be started here\n");

/** Compressing and installing 100 MB takes minutes where others use the disk. */
setDefaultTimeout(600_000);
const temporary = await temporaryFolder();

/** Folders of the packages that a release needs. */
async function listInstalledPackages(): Promise<string[]> {
  const { packages } = await Bun.file(join(root, "package-lock.json")).json();
  const entries = Object.entries<{ dev?: boolean; link?: boolean }>(packages);
  const needed = entries.filter(([path, { dev, link }]) => path.startsWith("node_modules/") && !dev && !link);
  return needed.map(([path]) => path).filter((path) => existsSync(join(root, path)));
}

/** A checkout with a tag, under a name of its own, and with packages of its own. */
async function checkOut(name: string): Promise<string> {
  const folder = join(temporary, name);
  const without = ["./.git", "./node_modules", "./data", "./dist"].map((path) => `--exclude=${path}`);
  await $`mkdir ${folder} && tar ${without} -cf - . | tar -xf - -C ${folder}`.cwd(root).quiet();
  await $`cp --archive --parents ${await listInstalledPackages()} ${folder}`.cwd(root);
  await $`git init -q`.cwd(folder);
  const dates = { GIT_AUTHOR_DATE: "@1700000000 +0000", GIT_COMMITTER_DATE: "@1700000000 +0000" };
  const author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  await $`git add -A && git ${author} commit -qm Test && git tag ${`v${version}`}`
    .cwd(folder)
    .env({ ...process.env, ...dates });
  return folder;
}

const release = (folder: string, ...args: string[]) =>
  $`node scripts/run.js release ${args}`.cwd(folder).quiet().nothrow();

describe.skipIf(!canPackage)("a release", () => {
  let checkout = "";
  let output = "";
  let files: string[] = [];
  beforeAll(async () => {
    checkout = await checkOut("checkout");
    const { exitCode, stderr } = await release(checkout, version);
    expect({ exitCode, stderr: `${stderr}` }).toEqual({ exitCode: 0, stderr: "" });
    output = join(checkout, "dist", version);
    files = (await readdir(output)).toSorted();
  }, 600_000);

  test("has an archive, a package, a bill of materials, and checksums of all", async () => {
    const all = [
      `pds-${version}-linux-x64.tar.gz`,
      `product-data-service_${version}_amd64.deb`,
      `pds-${version}.cdx.json`,
    ];
    expect(files).toEqual([...all, "SHA256SUMS"].toSorted());
    expect((await $`sha256sum --check SHA256SUMS`.cwd(output).text()).trim().split("\n")).toHaveLength(all.length);
  });

  test("has the same executable when it is built elsewhere", async () => {
    const other = await checkOut("elsewhere");
    await $`node scripts/run.js build`.cwd(other).quiet();
    const archive = join(output, `pds-${version}-linux-x64.tar.gz`);
    await $`tar -xzf ${archive} --to-stdout pds-${version}-linux-x64/pds | cmp - dist/pds`.cwd(other);
  });

  test.if(isCampaign)("is the same when it is built elsewhere", async () => {
    const other = await checkOut("another");
    expect((await release(other, version)).exitCode).toBe(0);
    expect(await Bun.file(join(other, "dist", version, "SHA256SUMS")).text()).toBe(
      await Bun.file(join(output, "SHA256SUMS")).text(),
    );
  });

  test("has everything in the archive", async () => {
    const name = `pds-${version}-linux-x64`;
    const folder = await temporaryFolder();
    await $`tar -xzf ${join(output, `${name}.tar.gz`)}`.cwd(folder);
    const listed = (await $`find . -type f -printf "%m %P\n"`.cwd(folder).text()).trim().split("\n");
    const expected = [
      `644 ${name}/CHANGELOG.md`,
      `644 ${name}/LICENSE`,
      `644 ${name}/THIRD_PARTY.md`,
      `644 ${name}/completions/_pds`,
      `644 ${name}/completions/pds.bash`,
      `644 ${name}/completions/pds.fish`,
      `755 ${name}/pds`,
    ];
    expect(listed.toSorted()).toEqual(expected.toSorted());
    const pds = join(folder, name, "pds");
    expect(await $`${pds} --version`.env({}).text()).toBe(`${version}\n`);
    expect(await $`${pds} completions bash`.env({}).text()).toBe(
      await Bun.file(join(folder, name, "completions", "pds.bash")).text(),
    );
  });

  test("has a bill of materials with every package in the executable, and the runtime", async () => {
    const { bomFormat, components, metadata } = await Bun.file(join(output, `pds-${version}.cdx.json`)).json();
    expect({ bomFormat, of: metadata.component.name, version: metadata.component.version }).toEqual({
      bomFormat: "CycloneDX",
      of: "product-data-service",
      version,
    });
    const listed = components.map((each: { name: string; version: string }) => `${each.name} ${each.version}`);
    const bundled = await listBundledPackages(root, "executable");
    expect(listed).toEqual(expect.arrayContaining(bundled.map(({ name, version }) => `${name} ${version}`)));
    expect(listed).toContain(`bun ${Bun.version}`);
  });

  test("has a package for Debian, without conffiles", async () => {
    const file = join(output, `product-data-service_${version}_amd64.deb`);
    const listed = (await $`dpkg-deb --contents ${file}`.text()).trim().split("\n");
    const entries = listed.map((line) => line.split(/\s+/)).filter(([, , , , , path]) => !path?.endsWith("/"));
    expect(entries.map(([mode, owner, , , , path]) => `${mode} ${owner} ${path}`).toSorted()).toEqual([
      "-rw-r--r-- root/root ./usr/lib/systemd/system/pds.service",
      "-rw-r--r-- root/root ./usr/lib/systemd/system/pds@.service",
      "-rw-r--r-- root/root ./usr/share/bash-completion/completions/pds",
      "-rw-r--r-- root/root ./usr/share/doc/product-data-service/THIRD_PARTY.md",
      "-rw-r--r-- root/root ./usr/share/doc/product-data-service/copyright",
      "-rw-r--r-- root/root ./usr/share/fish/vendor_completions.d/pds.fish",
      "-rw-r--r-- root/root ./usr/share/pds/pds.toml",
      "-rw-r--r-- root/root ./usr/share/zsh/vendor-completions/_pds",
      "-rwxr-xr-x root/root ./usr/bin/pds",
    ]);
    expect(listed.find((line) => line.endsWith("./etc/pds/credentials/"))).toStartWith("drwx------ root/root");
    // dpkg would ask about a new text of settings that somebody changed.
    expect(await $`dpkg-deb --ctrl-tarfile ${file} | tar --list`.text()).not.toContain("conffiles");
    // Older ones refuse the unit's folder of credentials.
    expect(await $`dpkg-deb --field ${file} Breaks`.text()).toBe("systemd (<< 251)\n");
  });

  test.skipIf(!canInstall)(
    "has a package that installs, upgrades, and removes, also where systemd does not respond",
    async () => {
      const file = join(output, `product-data-service_${version}_amd64.deb`);
      const { stdout } = await inCopy(
        // As in a container of an image with traces of systemd, which does not run there.
        `mkdir -p /mnt/root/run/systemd/system
        cp "$1" /mnt/root/pds.deb
        exec unshare --pid --fork chroot /mnt/root sh -ec '
          mount -t proc proc /proc
          dpkg --force-unsafe-io -i pds.deb >&2 && pds --version && echo "port = 3002" > /etc/pds/pds.toml
          dpkg --force-unsafe-io -i pds.deb >&2 && cat /etc/pds/pds.toml && ls -d /etc/systemd/system/*/pds.service
          dpkg -r product-data-service >&2 && ls /usr/bin/pds || ls /etc/pds/pds.toml
          dpkg -P product-data-service >&2 && ls -d /etc/pds /etc/systemd/system/*/pds.service || echo purged'`,
        file,
      );
      expect(stdout).toBe(
        `${version}\nport = 3002\n/etc/systemd/system/multi-user.target.wants/pds.service\n/etc/pds/pds.toml\npurged\n`,
      );
    },
  );

  test.skipIf(!canInstall)(
    "has a package that asks nothing about changed settings, also after one with a conffile",
    async () => {
      const file = join(output, `product-data-service_${version}_amd64.deb`);
      const { stdout } = await inCopy(
        // Nobody answers. The packages before and after have no program, which would take a minute to compress.
        `cp "$1" /mnt/root/pds.deb
        exec </dev/null chroot /mnt/root sh -ec '
          install() { DEBIAN_FRONTEND=noninteractive dpkg --force-unsafe-io -i "$1" >&2; }
          show() { stat --format="%a %U" /etc/pds/pds.toml; cat /etc/pds/pds.toml; ls /etc/pds; }
          dpkg-deb --raw-extract pds.deb /package
          cd /package
          echo "#!/bin/sh" > usr/bin/pds
          first="$(find . -name pds.toml)"
          echo "# A newer text." >> "$first"
          sed -i "s/^Version: .*/&.1/" DEBIAN/control
          dpkg-deb --build . /later.deb >&2
          # dpkg gives up when another package has the file.
          touch usr/bin/env
          dpkg-deb --build . /refused.deb >&2
          rm usr/bin/env
          mv "$first" etc/pds/pds.toml
          echo /etc/pds/pds.toml > DEBIAN/conffiles
          rm DEBIAN/preinst DEBIAN/postinst DEBIAN/prerm DEBIAN/postrm
          sed -i "s/^Version: .*/Version: 0.0.1/" DEBIAN/control
          dpkg-deb --build . /former.deb >&2
          cd /
          umask 077
          install former.deb
          echo "port = 3002" > /etc/pds/pds.toml
          install refused.deb || show
          install pds.deb
          show
          dpkg-query --show --showformat="conffiles:\${Conffiles}\n" product-data-service
          install later.deb
          show
          dpkg -r product-data-service >&2
          install pds.deb
          show
          dpkg -P product-data-service >&2
          ls -d /etc/pds || echo purged
          install former.deb
          dpkg -r product-data-service >&2
          install later.deb
          show | grep newer
          dpkg -P product-data-service >&2
          install later.deb
          show | sed -n "1p; /newer/p"
          dpkg -P product-data-service >&2
          ls -d /etc/pds || echo purged'`,
        file,
      );
      const kept = "644 root\nport = 3002\ncredentials\npds.toml\n";
      expect(stdout).toBe(
        `${kept}${kept}conffiles:\n${kept}${kept}purged\n# A newer text.\n644 root\n# A newer text.\npurged\n`,
      );
    },
  );

  test.skipIf(!canBoot)(
    "has a package whose services start, restart with upgrades, and are back after it was removed",
    async () => {
      const folder = await temporaryFolder();
      await writeFiles(folder, {
        "test.service":
          "[Unit]\nSuccessAction=exit\nFailureAction=exit\n[Service]\nType=oneshot\nExecStart=/bin/sh -eux /test/run\nStandardOutput=file:/test/out\nStandardError=file:/test/errors\n",
        run: `
          install() { dpkg --force-unsafe-io -i /test/pds.deb >&2; }
          processes() { systemctl show --property=MainPID --value pds pds@a pds@b | xargs; }
          install
          until pds health; do sleep 0.1; done
          # A folder of secrets that is missing is like one without secrets.
          rm -r /etc/pds/credentials
          systemctl restart pds
          echo "credentials: $(stat --format=%a /etc/pds/credentials)"
          for shop in a b; do
            pds service install --shop $shop
            echo 'port = 0\nadmin_port = 0' > /etc/pds-$shop/pds.toml
            rm -r /etc/pds-$shop/credentials
            systemctl enable --now pds@$shop
          done
          first="$(processes)"
          echo "users: $(for pid in $first; do stat --format=%u /proc/$pid; done | sort -u | wc -l)"
          install
          second="$(processes)"
          for pid in $first; do case " $second " in *" $pid "*) echo "$pid was not restarted" ;; esac; done
          dpkg -r product-data-service >&2
          systemctl is-active pds pds@a pds@b | xargs
          install
          systemctl is-active pds pds@a pds@b | xargs
          # An operator's decisions outlast upgrades.
          systemctl disable --now pds pds@b
          install
          systemctl is-active pds pds@a pds@b | xargs
          dpkg -P product-data-service >&2
          systemctl is-active pds pds@a pds@b | xargs`,
      });
      const { stdout } = await inCopy(
        `mkdir /mnt/root/test && cp "$1" /mnt/root/test/pds.deb && cp "$2/run" /mnt/root/test
        cp "$2/test.service" /mnt/root/etc/systemd/system && rm -f /mnt/root/usr/sbin/policy-rc.d
        ${boot} --boot systemd.unit=test.service </dev/null >&2
        cat /mnt/root/test/errors >&2; cat /mnt/root/test/out`,
        join(output, `product-data-service_${version}_amd64.deb`),
        folder,
      );
      expect(stdout).toBe(
        [
          '200 {"status":"ok"}',
          "credentials: 700",
          "users: 3",
          "inactive inactive inactive",
          "active active active",
          "inactive active inactive",
          "inactive inactive inactive\n",
        ].join("\n"),
      );
    },
  );

  test("is refused for another version, an untagged commit, and changes", async () => {
    const messageOf = async (...args: string[]) => `${(await release(checkout, ...args)).stderr}`;
    expect(await messageOf()).toStartWith("release: usage: npm run release -- VERSION");
    expect(await messageOf(version, "--target")).toStartWith("release: usage: ");
    expect(await messageOf("1.0.0-rc.1")).toBe("release: expected a version such as 1.2.3, not 1.0.0-rc.1\n");
    const { stderr } = await $`${process.execPath} scripts/release.ts ${version}`
      .cwd(checkout)
      .env({ PATH: await temporaryFolder() })
      .quiet()
      .nothrow();
    expect(stderr.toString()).toBe("release: these programs are missing: tar, gzip, dpkg-deb, sha256sum\n");
    expect(await messageOf("9.9.9")).toBe(`release: the version in package.json is ${version}, not 9.9.9\n`);
    const manifest = join(checkout, "packages", "client", "package.json");
    const text = await Bun.file(manifest).text();
    await Bun.write(manifest, text.replace(version, "9.9.9"));
    expect(await messageOf(version)).toBe(
      `release: the version in packages/client/package.json is 9.9.9, not ${version}\n`,
    );
    await Bun.write(manifest, text);
    await $`git tag --delete ${`v${version}`}`.cwd(checkout).quiet();
    expect(await messageOf(version)).toBe(`release: the tag v${version} does not point at this commit\n`);
    await Bun.write(join(checkout, "new"), "");
    expect(await messageOf(version)).toBe("release: there are changes that are not committed:\n?? new\n");
  });
});
