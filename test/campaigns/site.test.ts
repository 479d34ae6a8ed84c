import { beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { $ } from "bun";
import { isCampaign, root } from "../support/pds.ts";

// The documentation site as it is published. Its generator is installed for this, which takes
// longer than a short campaign may.

const folder = join(root, "dist", "site");
const base = "/shop/";
const source = "https://source.example/blob/main";

/** Attributes of the elements of a page that have them. */
const valuesOf = (page: string, pattern: RegExp) => [...page.matchAll(pattern)].map(([, value = ""]) => value);
const read = (page: string) => readFileSync(join(folder, page), "utf8");

function problemOf(page: string, href: string): string | undefined {
  if (/^[a-z]+:/.test(href)) {
    if (!href.startsWith(`${source}/`)) return undefined;
    return existsSync(join(root, href.slice(source.length + 1))) ? undefined : `${page}: ${href} is not in the source`;
  }
  const [path = "", anchor = ""] = href.split("#");
  const from = posix.join(base, posix.dirname(page));
  const absolute = path === "" ? posix.join(base, page) : posix.resolve(from, path) + (path.endsWith("/") ? "/" : "");
  const target = absolute.replace(/\/$/, "/index.html").slice(base.length);
  const file = [target, `${target}.html`].find((name) => name.endsWith(".html") && existsSync(join(folder, name)));
  if (!absolute.startsWith(base) || file === undefined) return `${page}: ${href} is not on the site`;
  if (anchor === "" || valuesOf(read(file), / id="([^"]+)"/g).includes(decodeURIComponent(anchor))) return undefined;
  return `${page}: ${href} has no such heading`;
}

beforeAll(async () => {
  if (!isCampaign) return;
  const built = await $`node scripts/run.js site`
    .cwd(root)
    .env({ ...process.env, SITE_BASE: base, SITE_SOURCE: source })
    .quiet()
    .nothrow();
  expect([built.exitCode, built.exitCode === 0 ? "" : built.stderr.toString()]).toEqual([0, ""]);
}, 600_000);

test.skipIf(!isCampaign)("the site has all pages, and its links lead to pages, headings, and sources", () => {
  const pages = [...new Bun.Glob("**/*.html").scanSync(folder)];
  const written = [...new Bun.Glob("docs/**/*.md").scanSync(root)].map((page) =>
    page.replace("README", "index").replace(/md$/, "html"),
  );
  expect(pages).toEqual(expect.arrayContaining([...written, "index.html", "packages/personalizer/index.html"]));
  const problems = pages.flatMap((page) =>
    valuesOf(read(page), /<a [^>]*href="([^"]+)"/g).flatMap((href) => problemOf(page, href) ?? []),
  );
  expect(problems).toEqual([]);
});

test.skipIf(!isCampaign)("the site finds words without a server", async () => {
  const [index = ""] = [...new Bun.Glob("assets/chunks/@localSearchIndex*.js").scanSync(folder)];
  const { default: stored } = await import(join(folder, index));
  const { default: MiniSearch } = await import(join(root, "site", "node_modules", "minisearch"));
  const search = MiniSearch.loadJSON(stored, { fields: ["title", "titles", "text"] });
  const found: string[] = search.search("stale_seconds", { combineWith: "AND" }).map(({ id }: { id: string }) => id);
  expect(found).toContain(`${base}docs/reference/jobs.html#options-of-every-job`);
});
