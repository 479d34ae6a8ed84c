import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, relative } from "node:path";
import { toUnit } from "../../src/commands/systemd-unit.ts";
import { type Finished, main, pds, root } from "../support/pds.ts";

/** Only root may hide `/etc` from a process, so that the test changes no real one. */
const canHideEtc =
  process.getuid?.() === 0 &&
  Bun.which("unshare") !== null &&
  Bun.spawnSync(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]).success;

/** Runs commands with an empty `/etc`, and with the program in `/mnt`, since it may be in a home folder. */
async function runInstalled(commands: string): Promise<Finished> {
  const folder = process.env.TEST_MAIN === undefined ? root : dirname(main);
  const script = [
    "set -e",
    "mount -t tmpfs none /etc && mount -t tmpfs none /mnt",
    'touch /mnt/bun && mount --bind "$1" /mnt/bun',
    'mkdir /mnt/program && mount --bind "$2" /mnt/program',
    "bun=/mnt/bun",
    `pds() { "$bun" "/mnt/program/${relative(folder, main)}" "$@"; }`,
    commands,
  ].join("\n");
  const child = Bun.spawn(["unshare", "-m", "sh", "-c", script, "sh", process.execPath, folder], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

describe("pds service install", () => {
  test("prints the unit, and writes nothing, with --print", async () => {
    const { code, stdout } = await pds(["service", "install", "--print"]);
    expect(code).toBe(0);
    expect(stdout).toContain(` serve\n`);
    expect(stdout).toContain("\nLoadCredential=pds:%E/pds/credentials\n");
    const forShop = await pds(["service", "install", "--shop", "acme", "--print"]);
    expect(forShop.stdout).toContain("\nUser=pds-%i\n");
    expect(forShop.stdout).toContain("\nStateDirectory=pds-%i\n");
  });

  test.each(["../acme", "a".repeat(28)])(
    "refuses %s, which is no part of a path and of a user's name",
    async (shop) => {
      const { code, stderr } = await pds(["service", "install", "--shop", shop]);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: "pds: --shop: expected a name of at most 27 lower-case letters, digits, and hyphens\n",
      });
    },
  );

  test.skipIf(!canHideEtc)(
    "writes the unit, settings that the service may read, and a folder that only root may open",
    async () => {
      const { code, stdout, stderr } = await runInstalled(
        "umask 077 && pds service install && stat -c '%a %n' /etc/pds /etc/pds/* /etc/systemd/system/* && PDS_CONFIG=/etc/pds/pds.toml pds config",
      );
      expect(code).toBe(0);
      expect(stdout).toStartWith(
        "755 /etc/pds\n700 /etc/pds/credentials\n644 /etc/pds/pds.toml\n644 /etc/systemd/system/pds.service\n",
      );
      expect(stdout).toMatch(/^DATABASE_URL +sqlite:data\/pds.sqlite +file$/m);
      expect(stderr).toEndWith("start it with: systemctl daemon-reload && systemctl enable --now pds\n");
    },
  );

  test.skipIf(!canHideEtc)("changes no settings when it is repeated, and gives each shop its own", async () => {
    const { code, stdout } = await runInstalled(
      "pds service install --shop a; echo 'port = 3002' > /etc/pds-a/pds.toml; pds service install --shop a; pds service install --shop b; cat /etc/pds-a/pds.toml; ls -d /etc/pds* /etc/systemd/system/*",
    );
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "port = 3002\n/etc/pds-a\n/etc/pds-b\n/etc/systemd/system/pds@.service\n",
    });
  });

  test.skipIf(!canHideEtc || !existsSync("/usr/lib/systemd"))("keeps to the unit of a package", async () => {
    const { code, stdout, stderr } = await runInstalled(
      `mount -t tmpfs none /usr/lib/systemd; mkdir /usr/lib/systemd/system
      pds service install --shop a --print > /usr/lib/systemd/system/pds@.service
      pds service install --shop a; ls -d /etc/pds* /etc/systemd* || true
      echo "# other" >> /usr/lib/systemd/system/pds@.service
      pds service install --shop a; ls /etc/systemd/system`,
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: "/etc/pds-a\npds@.service\n" });
    expect(stderr).toStartWith("unit: /usr/lib/systemd/system/pds@.service\n");
  });

  test.skipIf(!canHideEtc).each([
    ["says why it cannot write", "mount -o remount,ro /etc; pds service install", /^pds: service install: .*read-only/],
    [
      "refuses a path that systemd does not accept",
      `touch "/mnt/it's"; mount --bind /mnt/bun "/mnt/it's"; bun="/mnt/it's"; pds service install --print`,
      /^pds: service install: systemd accepts no quotes and backslashes in the path \/mnt\/it's; move the program\n$/,
    ],
    [
      "refuses a program that the service could not see",
      "mount -t tmpfs none /home; touch /home/bun; mount --bind /mnt/bun /home/bun; bun=/home/bun; pds service install",
      /a service cannot read \/home\/bun; move/,
    ],
  ])("%s", async (_, commands, message) => {
    const { code, stderr } = await runInstalled(commands);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) });
  });
});

test("the command of a unit is quoted for systemd", () => {
  const unit = toUnit({ program: ["/opt/100% $new/pds", '/a "b" \\ $c'], isTemplate: false });
  expect(unit).toContain(String.raw`ExecStart="/opt/100%% $new/pds" "/a \"b\" \\ $$c" serve`);
});
