import type { Database } from "../database/database.ts";
import type { Generation } from "../database/generation.ts";
import type { Personalization } from "../model/personalization.ts";
import type { Answer, ConsoleContext } from "./context.ts";

/** What a SKU offered in a generation that is still stored. */
export interface FoundOffer {
  readonly generation: Generation;
  readonly personalization: Personalization;
}

/**
 * Finds what an order's `_personalization` was made from: the newest kept generation of which a
 * response for the SKU has that mark. Widgets mark forms; earlier ones marked the personalization.
 * @param generations of all brands
 */
export async function findOffer(
  { database, findPersonalization, listForms }: Pick<ConsoleContext, "database" | "findPersonalization" | "listForms">,
  sku: string,
  mark: string,
  generations: readonly Generation[],
): Promise<FoundOffer | undefined> {
  const wanted = mark.replace(/^W\/|"/g, "").trim();
  for (const generation of generations.toSorted((a, b) => b.id - a.id)) {
    const offered = await findPersonalization(generation.id, sku).catch(unlessRemoved(database));
    if (offered === undefined || offered.personalization.pzlines.length === 0) continue;
    const forms = (await listForms(generation, sku).catch(unlessRemoved(database))) ?? [];
    if ([offered, ...forms].some((answer) => isMarked(answer, sku, wanted))) {
      return { generation, personalization: offered.personalization };
    }
  }
  return undefined;
}

/** An import may remove a generation meanwhile. */
const unlessRemoved =
  ({ engine }: Database) =>
  (error: unknown): undefined => {
    if (!engine.isTableMissing(error)) throw error;
    return undefined;
  };

const isMarked = ({ tag, text }: Answer, sku: string, mark: string) =>
  mark === tag || mark === checksumOf(`${sku}\n${text}`);

/** The widget's checksum, for pages that cannot read entity tags: FNV-1a with two offsets. */
export function checksumOf(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const hashes = [0x811c9dc5, 0x01000193].map((offset) =>
    bytes.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), offset),
  );
  return hashes.map((hash) => (hash >>> 0).toString(16).padStart(8, "0")).join("");
}
