import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { ServiceError } from "../base/errors.ts";
import { thisProgram } from "../base/program.ts";
import type { Values } from "./common.ts";
import { firstSettings } from "./init.ts";
import { print, printMessage } from "./output.ts";
import { toUnit, unitNames } from "./systemd-unit.ts";

/** Where administrators keep units, and where packages do. */
const unitFolder = "/etc/systemd/system";
const packageFolder = "/usr/lib/systemd/system";

const hiddenFolders = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

export function installService(values: Values): boolean {
  const shop = parseShop(values);
  const program = thisProgram();
  // systemd accepts none of these in a program's path, even quoted.
  if (/["'\\\p{Cc}]/u.test(program[0] ?? "")) {
    throw new ServiceError(
      "unavailable",
      `service install: systemd accepts no quotes and backslashes in the path ${program[0]}; move the program`,
    );
  }
  const unit = toUnit({ program, isTemplate: shop !== undefined });
  if (values.print === true) {
    print(unit.trimEnd());
    return true;
  }
  if (process.platform !== "linux") throw new ServiceError("unavailable", "service install: only Linux has systemd");
  const hidden = program.find((path) => hiddenFolders.test(path));
  if (hidden !== undefined) {
    throw new ServiceError(
      "unavailable",
      `service install: a service cannot read ${hidden}; move the program, for example to /usr/local/bin`,
    );
  }
  const name = shop === undefined ? unitNames.one : unitNames.each;
  // A copy would hide the package's unit, and its upgrades.
  const path = isWritten(`${packageFolder}/${name}`, unit) ? `${packageFolder}/${name}` : `${unitFolder}/${name}`;
  const settings = `/etc/${shop === undefined ? "pds" : `pds-${shop}`}`;
  write(() => {
    // The service's own user must read the settings, whatever root's umask.
    process.umask(0o022);
    if (path.startsWith(unitFolder)) {
      mkdirSync(unitFolder, { recursive: true });
      writeFileSync(path, unit);
    }
    mkdirSync(settings, { recursive: true, mode: 0o755 });
    mkdirSync(`${settings}/credentials`, { recursive: true, mode: 0o700 });
    writeIfMissing(`${settings}/pds.toml`, firstSettings());
  });
  printMessage(`unit: ${path}`);
  printMessage(`settings: ${settings}/pds.toml; secrets: a file for each in ${settings}/credentials`);
  if (shop !== undefined) printMessage("give each shop its own port and admin_port");
  const service = shop === undefined ? "pds" : `pds@${shop}`;
  printMessage(`start it with: systemctl daemon-reload && systemctl enable --now ${service}`);
  return true;
}

function parseShop({ shop }: Values): string | undefined {
  // With the prefix "pds-", it is the name of a user, which may have 31 characters.
  if (shop === undefined || /^[a-z\d][a-z\d-]{0,26}$/.test(`${shop}`)) return shop as string | undefined;
  throw new ServiceError(
    "bad_request",
    "--shop: expected a name of at most 27 lower-case letters, digits, and hyphens",
  );
}

function isWritten(path: string, text: string): boolean {
  try {
    return readFileSync(path, "utf8") === text;
  } catch {
    return false;
  }
}

function writeIfMissing(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o644 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function write(work: () => void): void {
  try {
    work();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const hint = code === "EACCES" || code === "EPERM" ? "; run it as root" : "";
    throw new ServiceError("unavailable", `service install: ${message}${hint}`, { cause });
  }
}
