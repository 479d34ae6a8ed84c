import { expect, test } from "bun:test";
import { join } from "node:path";
import { toUnit, unitNames } from "../../src/commands/systemd-unit.ts";
import { temporaryFolder, writeFiles } from "../support/pds.ts";

const canAnalyze = Bun.which("systemd-analyze") !== null;
if (!canAnalyze) process.stderr.write("skipped: systemd-analyze is not installed\n");

const folder = await temporaryFolder();
await writeFiles(
  folder,
  Object.fromEntries(
    Object.entries(unitNames).map(([kind, name]) => [
      name,
      toUnit({ program: [process.execPath], isTemplate: kind === "each" }),
    ]),
  ),
);

async function analyze(...args: string[]) {
  const child = Bun.spawn(["systemd-analyze", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

test.skipIf(!canAnalyze).each(Object.values(unitNames))("systemd accepts %s, and calls it safe", async (name) => {
  const unit = join(folder, name);
  expect(await analyze("verify", "--man=no", unit)).toEqual({ code: 0, stdout: "", stderr: "" });
  // In tenths: the scale ends at 10, "unsafe"; without a sandbox, a service has 9.6.
  const { code, stdout } = await analyze("security", "--offline=true", "--threshold=20", "--no-pager", unit);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Overall exposure level") });
});
