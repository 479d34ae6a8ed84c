import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./support/pds.ts";

const page = readFileSync(join(root, "docs/how-to/troubleshoot.md"), "utf8");
const messages = [...page.matchAll(/^```text\n(.*?)^```$/gms)].flatMap(([, text = ""]) => text.trimEnd().split("\n"));
const sources = [...new Bun.Glob("src/**/*.{ts,tsx}").scanSync(root)].map((file) =>
  readFileSync(join(root, file), "utf8"),
);

test("the page on troubleshooting quotes messages", () => {
  expect(messages.length).toBeGreaterThan(15);
});

test.each(messages)("the program has the message: %s", (message) => {
  const parts = message.split("…").filter((part) => /\w/.test(part));
  // In the order of the message, with a value where "…" stands.
  const pattern = new RegExp(parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join('\\$\\{[^"`]*\\}'));
  const found = sources.some((text) => pattern.test(text));
  expect(found).toBe(true);
});
