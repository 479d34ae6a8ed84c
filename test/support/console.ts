import type { ConsoleContext } from "../../src/console/context.ts";
import { consolePages } from "../../src/console/index.tsx";
import type { Database } from "../../src/database/database.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import type { Page } from "../../src/http/page.ts";
import type { JobHealth } from "../../src/jobs/run.ts";
import { GenerationComparer } from "../../src/personalization/comparison.ts";
import { findInGeneration, formsInGeneration } from "../../src/personalization/generation-reader.ts";
import { parsePersonalization } from "../../src/personalization/reader.ts";
import type { FoundPersonalization } from "../../src/personalization/render.ts";

/** The console's pages in the process of the test, without a listener. */
export interface OpenConsole extends AsyncDisposable {
  readonly database: Database;
  /** A page at a path, or at a URL with another host. */
  readonly open: (path: string) => Promise<Page>;
  /** The body of a page. */
  readonly load: (path: string) => Promise<string>;
}

/**
 * Opens the console on a store.
 * @param jobs the state of the configured jobs
 * @param more of what the pages read from
 */
export async function openConsole(
  url: string,
  brand: string,
  jobs: () => Promise<readonly JobHealth[]> = async () => [],
  more: Partial<ConsoleContext> = {},
): Promise<OpenConsole> {
  const database = await openDatabase(url, "background");
  const comparer = new GenerationComparer(database);
  const pages = consolePages({
    database,
    brand,
    visible: "active",
    writeProblem: () => undefined,
    jobs,
    findPersonalization: async (generation, sku) => {
      const found = await findInGeneration(database, generation, sku);
      return { personalization: parsePersonalization(found), ...toAnswer(found) };
    },
    forms: async function* (generation, sku) {
      for await (const form of formsInGeneration(database, generation, sku, "en")) yield toAnswer(form);
    },
    compare: (from, to) => comparer.find(from, to),
    confirm: () => Promise.reject(new Error("there are no actions")),
    publicUrl: "http://127.0.0.1:3000",
    findWidgetPath: async () => "/personalizer.js",
    ...more,
  });
  const open = async (path: string) => {
    const at = new URL(path, "http://127.0.0.1:3001");
    const [, section, id = ""] = at.pathname.split("/");
    const route = id === "" || section === "personalization" ? at.pathname : `/${section}/:id`;
    const page = await pages[route]?.({ url: at, parameter: () => id });
    if (page === undefined) throw new Error(`${path} does not exist`);
    return page;
  };
  return {
    database,
    open,
    load: async (path) => (await open(path)).body,
    [Symbol.asyncDispose]: () => closeDatabase(database),
  };
}

const toAnswer = ({ tag, body }: FoundPersonalization) => ({ tag, text: new TextDecoder().decode(body) });

/** Visible text. */
export function textOf(html: string): string {
  const text = html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity);
}

/** The cells of all table rows of a page, without those of charts. */
export function rowsOf(html: string): string[][] {
  const tables = html.replace(/<figure.*?<\/figure>/gs, "");
  const bodies = [...tables.matchAll(/<tbody>(.*?)<\/tbody>/gs)].map(([, body = ""]) => body).join("");
  return [...bodies.matchAll(/<tr\b[^>]*>(.*?)<\/tr>/gs)].map(([, row = ""]) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = ""]) => textOf(cell).trim()),
  );
}
