import { type Database, readNow } from "../database/database.ts";
import { findPause } from "../jobs/job-pause.ts";
import { findLoadAt } from "../jobs/run-list.ts";
import { findFailingSince, findLastRun, findLastSuccess, findReport } from "../jobs/runs.ts";
import type { Generation } from "../personalization/generation.ts";
import { findInGeneration } from "../personalization/generation-reader.ts";
import { personalizationImportName } from "../personalization/options.ts";
import { parsePersonalization } from "../personalization/reader.ts";
import { listKnownSkus } from "../personalization/store.ts";
import { type ConsoleContext, defaultBrand } from "./context.ts";
import { type FoundOffer, unlessRemoved } from "./order-mark.ts";
import { listProductsOfSku, listSimilarSkus } from "./similar-skus.ts";

export type SkuFacts = Awaited<ReturnType<typeof readSkuFacts>>;

/**
 * Reads everything that explains what shoppers see of a SKU. Instants are ISO 8601 in UTC.
 * @param asked the brand that was asked about; undefined for the one that shoppers see
 * @param generations of all brands, the newest first
 */
export async function readSkuFacts(
  { database, brand: own, visible }: Pick<ConsoleContext, "database" | "brand" | "visible">,
  sku: string,
  asked: string | undefined,
  generations: readonly Generation[],
) {
  const now = Date.parse(await readNow(database));
  const current = generations.filter(({ isCurrent }) => isCurrent);
  const brands = current.map(({ brand }) => brand);
  const offering = inServedOrder(own, await listWithSku(database, current, sku));
  const generation = asked === undefined ? offering[0] : offering.find(({ brand }) => brand === asked);
  const offer: FoundOffer | undefined = generation && {
    generation,
    personalization: parsePersonalization(await findInGeneration(database, generation.id, sku)),
  };
  const searched = asked === undefined ? generations : generations.filter(({ brand }) => brand === asked);
  const past = offer === undefined ? await readPast(database, sku, searched) : undefined;
  const brand = asked ?? generation?.brand ?? past?.seen?.generation.brand ?? defaultBrand(own, current);
  return {
    sku,
    /** By the database's clock. */
    now,
    asked,
    /** Names of all brands with a current generation. */
    brands,
    /** The current generations that have the SKU, in the order in which the public API prefers them. */
    offering,
    /** What the brand offers; undefined if it does not have the SKU. */
    offer,
    /** Where the SKU was; undefined if there is an offer. */
    past,
    importing: await readImporting(database, brand, brands.includes(brand)),
    /** Other SKUs that may be meant; empty if any brand has this one. */
    similar: offering.length > 0 ? [] : await listSimilarSkus(database, sku, current),
    products: await listProductsOfSku(database, sku, now),
    visible,
  };
}

/** As the public API does: the service's own brand comes first, then the others by name. */
const inServedOrder = (own: string, generations: readonly Generation[]) => [
  ...generations.filter(({ brand }) => brand === own),
  ...generations.filter(({ brand }) => brand !== own),
];

export async function listWithSku(
  database: Database,
  generations: readonly Generation[],
  sku: string,
): Promise<Generation[]> {
  const known = await Promise.all(
    generations.map(({ id }) => listKnownSkus(database, id, [sku]).catch(unlessRemoved(database))),
  );
  return generations.filter((_, index) => known[index]?.length === 1);
}

export type Past = Awaited<ReturnType<typeof readPast>>;

/** Searches the stored generations of a brand, or of all brands, for a SKU that is no longer offered. */
async function readPast(database: Database, sku: string, searched: readonly Generation[]) {
  const newestFirst = searched.toSorted((a, b) => b.id - a.id);
  const [last] = await listWithSku(database, newestFirst, sku);
  return {
    searched: searched.length,
    /** When the oldest was loaded; undefined if there is none. */
    oldest: newestFirst.at(-1)?.loadedAt,
    /** The newest generation with the SKU; undefined if none has it. */
    seen: last && (await describeSeen(database, last, newestFirst)),
  };
}

async function describeSeen(database: Database, generation: Generation, newestFirst: readonly Generation[]) {
  const { id, brand } = generation;
  const current = newestFirst.find((other) => other.brand === brand && other.isCurrent);
  const next = newestFirst.findLast((other) => other.brand === brand && other.id > id);
  if (current === undefined) return undefined;
  const isRemoved = next !== undefined && id < current.id;
  return {
    generation,
    current,
    /** The first without the SKU; undefined if the current one is older, after a rollback. */
    removal: isRemoved ? await findLoaded(database, next) : undefined,
  };
}

export type Loaded = Awaited<ReturnType<typeof findLoaded>>;

/** Finds the import that loaded a generation, unless it is no longer stored. */
async function findLoaded(database: Database, generation: Generation) {
  const kind = { job: personalizationImportName, brand: generation.brand };
  const run = await findLoadAt(database, kind, generation.loadedAt);
  const report = run && (await findReport(database, run.id))?.personalization;
  return {
    generation,
    run,
    /** Name of the file with the lines of SKUs. */
    file: report?.files.find(({ list }) => list === "pzlines")?.file,
    removed: report?.skus?.removed,
  };
}

async function readImporting(database: Database, brand: string, hasGeneration: boolean) {
  const [last, lastSuccess, pause] = await Promise.all([
    findLastRun(database, personalizationImportName, brand),
    findLastSuccess(database, personalizationImportName, brand),
    findPause(database, personalizationImportName, brand),
  ]);
  const isFailing = last !== undefined && last.outcome !== "succeeded";
  const isNothingNew = last?.outcome === "succeeded" && last.counts === 0;
  return {
    brand,
    hasGeneration,
    last,
    /** Why the last one loaded nothing although it succeeded. */
    note: isNothingNew ? (await findReport(database, last.id))?.notes.at(-1) : undefined,
    /** When they began to fail; undefined if the last one succeeded. */
    failingSince: isFailing ? await findFailingSince(database, last) : undefined,
    lastSuccess,
    /** Undefined if the schedule is not paused. */
    pause: pause?.resumedAt === null ? pause : undefined,
  };
}
