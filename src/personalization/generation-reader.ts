import type { Database, Queryable } from "../database/database.ts";
import { FormRenderer, LargeFormError } from "./form.ts";
import { GenerationFragments } from "./fragment-cache.ts";
import type { Generation } from "./generation.ts";
import { listPresentations } from "./presentation/store.ts";
import { type FoundPersonalization, render, renderEmpty, type SkuParts } from "./render.ts";
import { findLines } from "./store.ts";

/** The same response and entity tag as when the generation is current. */
export async function findInGeneration(
  database: Queryable,
  generation: number,
  sku: string,
): Promise<FoundPersonalization> {
  const parts = await findParts(database, generation, sku);
  return parts === undefined ? renderEmpty(sku) : render(parts);
}

/**
 * Renders a SKU's forms in every locale of each stored presentation of the brand, and without one:
 * the same responses and entity tags as when both are current. There may be hundreds, so each is
 * rendered on demand, and other requests get a turn in between.
 */
export async function* formsInGeneration(
  database: Database,
  { id, brand }: Pick<Generation, "id" | "brand">,
  sku: string,
  defaultLocale: string,
): AsyncGenerator<FoundPersonalization> {
  const parts = await findParts(database, id, sku);
  if (parts === undefined) return;
  for (const presentation of [undefined, ...(await listPresentations(database, brand))]) {
    const renderer = new FormRenderer(brand, presentation, defaultLocale, 0);
    for (const locale of await renderer.listLocales(database)) {
      await Bun.sleep(0);
      try {
        const form = await renderer.find(database, sku, locale, () => parts);
        if (form !== "outdated" && "body" in form) yield form;
      } catch (error) {
        // A form that large was never served.
        if (!(error instanceof LargeFormError)) throw error;
      }
    }
  }
}

async function findParts(database: Queryable, generation: number, sku: string): Promise<SkuParts | undefined> {
  const lines = await findLines(database, generation, sku);
  return lines && (await new GenerationFragments(generation, 0).findParts(database, sku, lines));
}
