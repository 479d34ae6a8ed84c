import { readFileSync } from "node:fs";
import { $ } from "bun";
import { checkPackages } from "./packages.ts";

// The checks that need no running program: types, linter and formatter, unused exports, copied code,
// generated documentation and types, lock files, packages.
$.cwd(Bun.fileURLToPath(new URL("..", import.meta.url)));

const lockFiles = ["package-lock.json", "bench/peers/package-lock.json", "scripts/site/package-lock.json"];

const checks: Record<string, () => Promise<boolean>> = {
  types: async () => (await $`node_modules/.bin/tsc`.nothrow()).exitCode === 0,
  "types of the widget": async () => (await $`node_modules/.bin/tsc -p packages/personalizer`.nothrow()).exitCode === 0,
  linter: async () => (await $`node_modules/.bin/biome ci --colors=off .`.nothrow()).exitCode === 0,
  "unused exports": async () =>
    (await $`${process.execPath} node_modules/knip/bin/knip.js --no-progress --no-config-hints`.nothrow()).exitCode ===
    0,
  "copied code": async () => {
    const options = [
      "--min-tokens=70",
      "--threshold=0",
      "--format=typescript,tsx,javascript",
      "--ignore=**/node_modules/**,**/dist/**,**/platforms/shopify/responses.ts",
    ];
    const { exitCode, stdout } = await $`node_modules/.bin/jscpd ${options} src packages scripts`.quiet().nothrow();
    if (exitCode !== 0) process.stdout.write(stdout);
    return exitCode === 0;
  },
  "generated files": async () => (await $`${process.execPath} scripts/document.ts --check`.nothrow()).exitCode === 0,
  "lock files": async () => lockFiles.every((file) => !/"resolved": "https?:/.test(readFileSync(file, "utf8"))),
  packages: checkPackages,
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const right = await check();
  if (!right) failed++;
  process.stdout.write(`${right ? "ok" : "FAILED"}  ${name}\n`);
}
process.exitCode = failed === 0 ? 0 : 1;
