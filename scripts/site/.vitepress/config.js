import { join, posix, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { defineConfig } from "vitepress";
import { sidebarOf } from "./sidebar.js";

// The pages are the Markdown files where they are, so that their links work here and on GitHub.
const root = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Where files can be read that are no pages, such as `https://github.com/OWNER/NAME/blob/main`; by
 * default, on this machine.
 */
const source = process.env.SITE_SOURCE ?? pathToFileURL(root).href.replace(/\/$/, "");

/** Links to a README lead to the index of its folder, and those to other files to the source. */
function followLinks(markdown) {
  const open = markdown.renderer.rules.link_open;
  markdown.renderer.rules.link_open = (tokens, index, options, environment, self) => {
    const token = tokens[index];
    const href = token.attrGet("href") ?? "";
    const isLocal = !/^([a-z]+:|#|\/)/.test(href);
    const isPage = /\.md(#|$)/.test(href);
    if (isLocal && isPage) token.attrSet("href", href.replace("README.md", "index.md"));
    if (isLocal && !isPage) {
      const from = posix.dirname(relative(root, environment.path).replaceAll("\\", "/"));
      token.attrSet("href", `${source}/${posix.join(from, href)}`);
    }
    return open(tokens, index, options, environment, self);
  };
}

/** Braces in code are text, and no expressions of Vue. */
function keepBraces(markdown) {
  const code = markdown.renderer.rules.code_inline;
  markdown.renderer.rules.code_inline = (tokens, index, ...rest) => {
    tokens[index].attrSet("v-pre", "");
    return code(tokens, index, ...rest);
  };
}

export default defineConfig({
  title: "Product Data Service",
  description: "Personalization, job history, and product details for a storefront",
  srcDir: root,
  outDir: join(root, "dist", "site"),
  // The path under which it is published, such as /NAME/ on GitHub Pages.
  base: process.env.SITE_BASE ?? "/",
  srcExclude: ["**/node_modules/**", "{data,dist,deploy,src,test,.github}/**"],
  rewrites: (page) => page.replace(/README\.md$/, "index.md").replace(/^scripts\/site\//, ""),
  vue: { template: { compilerOptions: { isCustomElement: (tag) => tag === "personalization-options" } } },
  markdown: {
    // The default theme for light pages has too little contrast.
    theme: { light: "github-light-high-contrast", dark: "github-dark" },
    // The headings have the same anchors as on GitHub.
    anchor: {
      slugify: (text) =>
        text
          .toLowerCase()
          .replace(/[^\w -]/g, "")
          .replaceAll(" ", "-"),
    },
    // The nearest that the highlighter knows.
    languageAlias: { vcl: "c" },
    config: (markdown) => {
      followLinks(markdown);
      keepBraces(markdown);
    },
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        miniSearch: {
          // Names of settings are one word.
          options: { tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u) },
          searchOptions: {
            combineWith: "AND",
            // Most people look for what to do, and few for why it is so.
            boostDocument: (page) => (/\/docs\/decisions\//.test(page) ? 0.25 : 1),
          },
        },
      },
    },
    nav: [
      { text: "Documentation", link: "/docs/" },
      { text: "Try the widget", link: "/try-the-widget" },
      { text: "Changes", link: "/CHANGELOG" },
    ],
    outline: [2, 3],
    notFound: { quote: "The page may have moved. Search for it, or begin at the start.", linkText: "Go to the start" },
    sidebar: await sidebarOf(join(root, "docs", "README.md")),
  },
});
