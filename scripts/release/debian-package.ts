import { chmod, copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { $ } from "bun";
import { firstSettings } from "../../src/commands/init.ts";
import { toUnit, unitNames } from "../../src/commands/systemd-unit.ts";

const architecture = "amd64";

interface DebianPackage {
  readonly version: string;
  /** Folder with the executable and the common files. */
  readonly folder: string;
  readonly staging: string;
  readonly output: string;
}

const program = ["/usr/bin/pds"];

/** Where operators change the settings, and what a new installation begins with. */
const settings = "/etc/pds/pds.toml";
const firstSettingsFile = "/usr/share/pds/pds.toml";

/** Where the settings are while dpkg forgets that they were a conffile. */
const aside = `${settings}.dpkg-backup`;
const putBack = `if [ -e ${aside} ] && [ ! -e ${settings} ]; then mv ${aside} ${settings}; fi`;

/**
 * The settings are no conffile, since everybody changes them: dpkg would ask about each new text, and
 * fail where nobody answers. In the first packages, they were one.
 */
const preinst = `#!/bin/sh
set -e
if [ -e ${settings} ] && dpkg-query --show --showformat='\${Conffiles}' product-data-service 2>/dev/null |
  grep -q ' ${settings} '; then
  mv ${settings} ${aside}
fi
`;

/**
 * As Debian's own packages do: enable and start the service when it is new, restart it on upgrades, and
 * start it again after a removal, with those of shops.
 */
const postinst = `#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
${putBack}
[ -e ${settings} ] || install -m 644 ${firstSettingsFile} ${settings}
deb-systemd-helper unmask pds.service >/dev/null || true
if deb-systemd-helper --quiet was-enabled pds.service; then
  deb-systemd-helper enable pds.service >/dev/null || true
else
  deb-systemd-helper update-state pds.service >/dev/null || true
fi
[ -d /run/systemd/system ] || exit 0
# In a chroot, /run may be there without systemd.
systemctl daemon-reload || true
if [ -z "$2" ]; then
  deb-systemd-invoke start pds.service || true
else
  deb-systemd-invoke restart pds.service || true
  systemctl try-restart 'pds@*.service' || true
  for unit in /etc/systemd/system/multi-user.target.wants/pds@*.service; do
    [ -L "$unit" ] && deb-systemd-invoke start "$(basename "$unit")" || true
  done
fi
`;

const prerm = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl stop pds.service 'pds@*.service' || true
fi
`;

const postrm = `#!/bin/sh
set -e
if [ "$1" = purge ]; then
  deb-systemd-helper purge pds.service >/dev/null || true
  rm -f ${settings} ${aside}
  # Secrets stay: the package did not create them.
  rmdir /etc/pds/credentials /etc/pds 2>/dev/null || true
else
  # Also when an upgrade was aborted.
  ${putBack}
fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
`;

/** Builds a package whose service listens on loopback until its settings are changed. */
export async function buildDebianPackage(options: DebianPackage): Promise<void> {
  const { version, folder, staging, output } = options;
  const name = `product-data-service_${version}_${architecture}`;
  const package_ = join(staging, name);
  const write = (path: string, text: string) => Bun.write(join(package_, path), text);
  const copy = async (from: string, to: string) => {
    await mkdir(dirname(join(package_, to)), { recursive: true });
    await copyFile(join(folder, from), join(package_, to));
  };
  await copy("pds", "usr/bin/pds");
  await copy("completions/pds.bash", "usr/share/bash-completion/completions/pds");
  await copy("completions/_pds", "usr/share/zsh/vendor-completions/_pds");
  await copy("completions/pds.fish", "usr/share/fish/vendor_completions.d/pds.fish");
  await copy("LICENSE", "usr/share/doc/product-data-service/copyright");
  await copy("THIRD_PARTY.md", "usr/share/doc/product-data-service/THIRD_PARTY.md");
  await write(`usr/lib/systemd/system/${unitNames.one}`, toUnit({ program, isTemplate: false }));
  await write(`usr/lib/systemd/system/${unitNames.each}`, toUnit({ program, isTemplate: true }));
  await write(firstSettingsFile, firstSettings());
  await mkdir(join(package_, "etc/pds/credentials"), { recursive: true });
  const scripts = { preinst, postinst, prerm, postrm };
  for (const [script, text] of Object.entries(scripts)) await write(`DEBIAN/${script}`, text);
  await $`chmod -R u=rwX,go=rX ${package_}`;
  await chmod(join(package_, "etc/pds/credentials"), 0o700);
  for (const script of Object.keys(scripts)) await chmod(join(package_, "DEBIAN", script), 0o755);
  const kilobytes = (await $`du --summarize --apparent-size --block-size=1024 ${package_}`.text()).split("\t")[0];
  // Before 251, systemd loads single files as credentials, and no folders.
  await write(
    "DEBIAN/control",
    `Package: product-data-service
Version: ${version}
Architecture: ${architecture}
Maintainer: Product Data Service maintainers <maintainers@product-data-service.example>
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.17)
Breaks: systemd (<< 251)
Section: web
Priority: optional
Description: personalization, job history, and product details for a storefront
 Read-only JSON operations for a retailer's product pages, and the jobs that
 keep their data current.
`,
  );
  // Debian 12 and Ubuntu 22.04 read zstd.
  await $`dpkg-deb --root-owner-group -Zzstd -z3 --build ${package_} ${join(output, `${name}.deb`)}`.quiet();
}
