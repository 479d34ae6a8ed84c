import { join } from "node:path";
import { $ } from "bun";

// Builds the documentation site into dist/site, with a generator that is installed only for this.
const site = join(import.meta.dir, "..", "site");
await $`npm ci --ignore-scripts --no-audit --no-fund`.cwd(site);
await $`npm run build`.cwd(site);
