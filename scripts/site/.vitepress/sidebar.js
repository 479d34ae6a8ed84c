import { readFile } from "node:fs/promises";
import { posix } from "node:path";

/** The sidebar: the sections of the index, each with the first link of its entries. */
export async function sidebarOf(file) {
  const [, ...sections] = (await readFile(file, "utf8")).split(/^## /m);
  return sections.map((section) => {
    const [text = ""] = section.split("\n", 1);
    const links = [...section.matchAll(/\[([^\]]+)\]\(([^)]+)\.md\)/g)];
    const items = links.map(([, name, target]) => ({
      // In the index, a link may be inside of a sentence.
      text: `${name.charAt(0).toUpperCase()}${name.slice(1)}`.replace(/\s+/g, " "),
      link: `/${posix.join("docs", target)}`.replace(/README$/, ""),
    }));
    return { text, items };
  });
}
