import type { Personalization } from "../contract/personalization.ts";
import type { Database } from "../database/database.ts";
import type { Generation } from "../personalization/generation.ts";
import type { Answer, ConsoleContext } from "./context.ts";

/** What a generation offers for a SKU. */
export interface FoundOffer {
  readonly generation: Generation;
  /** In display order. */
  readonly personalization: Personalization;
}

/**
 * Finds the generation that an order's `_personalization` was made from: a current one, or else the newest
 * kept one whose response for the SKU has that mark. Widgets mark forms; earlier ones marked the personalization.
 * @param generations of all brands
 */
export async function findOffer(
  context: ConsoleContext,
  sku: string,
  mark: string,
  generations: readonly Generation[],
): Promise<FoundOffer | undefined> {
  const wanted = mark.replace(/^W\/|"/g, "").trim();
  // After a rollback, the current one is not the newest.
  const inOrder = generations.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent) || b.id - a.id);
  for (const generation of inOrder) {
    const personalization = await findMarked(context, generation, sku, wanted).catch(unlessRemoved(context.database));
    if (personalization !== undefined) return { generation, personalization };
  }
  return undefined;
}

async function findMarked(
  { findPersonalization, forms }: ConsoleContext,
  generation: Generation,
  sku: string,
  mark: string,
): Promise<Personalization | undefined> {
  const offered = await findPersonalization(generation.id, sku);
  const { personalization } = offered;
  if (personalization.pzlines.length === 0) return undefined;
  if (isMarked(offered, sku, mark)) return personalization;
  for await (const form of forms(generation, sku)) if (isMarked(form, sku, mark)) return personalization;
  return undefined;
}

/** Handles the error when an import has just removed a generation. */
export const unlessRemoved =
  ({ engine }: Database) =>
  (error: unknown): undefined => {
    if (engine.classify(error) !== "missing") throw error;
    return undefined;
  };

const isMarked = ({ tag, text }: Answer, sku: string, mark: string) =>
  mark === tag || mark === checksumOf(`${sku}\n${text}`);

/** The widget's checksum, for pages that cannot read entity tags: FNV-1a with two offsets. */
function checksumOf(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const hashes = [0x811c9dc5, 0x01000193].map((offset) =>
    bytes.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), offset),
  );
  return hashes.map((hash) => (hash >>> 0).toString(16).padStart(8, "0")).join("");
}
