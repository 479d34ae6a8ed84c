import { readFile } from "node:fs/promises";
import { posix } from "node:path";

/** The sidebar: the sections of the index, each with the first link of its entries. */
export async function sidebarOf(file) {
  const [, ...sections] = (await readFile(file, "utf8")).split(/^## /m);
  return sections.map((section) => {
    const [text = ""] = section.split("\n", 1);
    const links = [...section.matchAll(/\[([^\]]+)\]\(([^)]+)\.md\)/g)];
    const items = links.map(([, name, target]) => ({
      text: name.replace(/\s+/g, " "),
      link: `/${posix.join("docs", target)}`.replace(/README$/, ""),
    }));
    return { text, items };
  });
}
