import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { root } from "./support/pds.ts";
import { blocksOf, openReader, testCommands } from "./support/reader.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");
const reader = await openReader();
testCommands("README.md", reader);

describe("the README", () => {
  test("is short, and starts the service with its first command", () => {
    expect(readme.split("\n").length).toBeLessThanOrEqual(131);
    expect(blocksOf(readme)[0]).toMatchObject({ language: "sh", text: "npm start\n" });
  });

  test("starts a service that stops when the npm that started it does", async () => {
    if (!(await reader.isServing())) await reader.run("npm start");
    expect(await reader.isServing()).toBeTrue();
    await reader.stopService();
  });
});

describe("the documentation", () => {
  const files = [
    ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"],
    ...[...new Bun.Glob("{docs,packages,sample,bench}/**/*.md").scanSync(root)].filter(
      (file) => !file.includes("node_modules"),
    ),
  ];

  test.each(files)("%s links to files and headings that exist", (file) => {
    const markdown = readFileSync(join(root, file), "utf8");
    for (const [, target = "", anchor] of markdown.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const path = target === "" ? join(root, file) : join(root, dirname(file), target);
      expect(existsSync(path), target).toBeTrue();
      if (anchor === undefined) continue;
      const headings = [...readFileSync(path, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
        heading
          .toLowerCase()
          .replace(/[^\w -]/g, "")
          .replaceAll(" ", "-"),
      );
      expect(headings).toContain(anchor);
    }
  });

  test("names tests that exist for the promises about security", () => {
    const text = readFileSync(join(root, "SECURITY.md"), "utf8");
    const [, promises = ""] = text.split("## What is promised, and tested");
    const tests = [...promises.matchAll(/\]\((test\/[^)]+)\): ([^;|]+)/g)];
    expect(tests.length).toBeGreaterThan(15);
    for (const [, file = "", name = ""] of tests) {
      expect(readFileSync(join(root, file), "utf8"), `${file}: ${name}`).toContain(name.trim());
    }
  });

  test("names this version in the commands of the guides", () => {
    const guides = files.filter((file) => file.startsWith("docs/how-to/"));
    const named = guides.flatMap((file) => {
      const markdown = readFileSync(join(root, file), "utf8");
      const names = markdown.matchAll(/product-data-(?:service|client|personalizer)[:_-](\d+\.\d+\.\d+)/g);
      return [...names].map(([, version]) => ({ file, version }));
    });
    expect(named).not.toBeEmpty();
    expect(named.filter(({ version }) => version !== packageJson.version)).toEqual([]);
  });

  test("is reachable from its index", () => {
    const index = readFileSync(join(root, "docs", "README.md"), "utf8");
    const decisions = readFileSync(join(root, "docs", "decisions", "README.md"), "utf8");
    const pages = [...new Bun.Glob("**/*.md").scanSync(join(root, "docs"))].filter((page) => page !== "README.md");
    expect(pages.length).toBeGreaterThan(20);
    for (const page of pages) {
      const [, decision] = page.match(/^decisions\/(\d.*)$/) ?? [];
      expect(decision === undefined ? index : decisions).toContain(`(${decision ?? page})`);
    }
  });
});
