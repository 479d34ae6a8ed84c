import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { buildPersonalizer } from "../packages/personalizer/build.ts";
import products from "./site/sample-skus.json" with { type: "json" };

// Builds the documentation site into dist/site, with a generator that is installed only for this.
// Rollup is replaced by its build as WebAssembly: it has no package for each system, so the lock file
// is complete whatever system wrote it.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const site = join(root, "scripts", "site");
const output = join(root, "dist", "site");
await $`npm ci --ignore-scripts --no-audit --no-fund`.cwd(site);
await $`npm run build`.cwd(site);
await addWidget();

/** The widget, and the responses of a service with the sample, under the paths that it requests. */
async function addWidget(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "pds-site-"));
  const env = {
    PATH: process.env.PATH ?? "",
    PDS_CONFIG: "/dev/null",
    DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
    LOG_LEVEL: "silent",
    PORT: "0",
    ADMIN_PORT: "0",
  };
  const pds = (...args: string[]) =>
    Bun.spawn([process.execPath, "src/main.ts", ...args], { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  let service: Bun.Subprocess | undefined;
  try {
    for (const [kind, source] of [
      ["personalization", "sample/personalization"],
      ["presentation", "sample/presentation.toml"],
    ] as const) {
      const imported = await pds("import", kind, source, "--brand", "sample").exited;
      if (imported !== 0) throw new Error(`site: the ${kind} of the sample could not be imported`);
    }
    const serving = pds("serve");
    service = serving;
    const url = await readUrl(serving);
    const { formFile } = buildPersonalizer();
    // The language of the site is part of the path.
    const forms = products.map(({ sku }) => `api/v1/products/form/en-US/${sku}`);
    for (const path of ["personalization-options.js", `personalization-options/${formFile}`, ...forms]) {
      const response = await fetch(`${url}/${path}`);
      if (!response.ok) throw new Error(`site: ${path}: ${response.status}`);
      await mkdir(join(output, path, ".."), { recursive: true });
      await Bun.write(join(output, path), response);
    }
  } finally {
    service?.kill();
    await service?.exited;
    await rm(folder, { recursive: true });
  }
}

/** @returns the URL of the public listener, which the service prints */
async function readUrl({ stdout }: Bun.Subprocess<"ignore", "pipe", "inherit">): Promise<string> {
  let printed = "";
  for await (const chunk of stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    const [, url] = printed.match(/^Public\s+(\S+)\/api\/v1$/m) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error("site: the service did not start");
}
