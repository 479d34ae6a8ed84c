import type { Visibility } from "../catalog/visibility.ts";
import type { Personalization } from "../contract/personalization.ts";
import { type Database, readNow } from "../database/database.ts";
import { findPause, type JobPause } from "../jobs/job-pause.ts";
import type { Run } from "../jobs/run.ts";
import { findLoadAt } from "../jobs/run-list.ts";
import { findFailingSince, findLastRun, findLastSuccess, findReport } from "../jobs/runs.ts";
import type { Generation } from "../personalization/generation.ts";
import { findInGeneration } from "../personalization/generation-reader.ts";
import { personalizationImportName } from "../personalization/options.ts";
import { parsePersonalization } from "../personalization/reader.ts";
import { listKnownSkus } from "../personalization/store.ts";
import { defaultBrand } from "./context.ts";
import { unlessRemoved } from "./order-mark.ts";
import { listProductsOfSku, listSimilarSkus, type ProductOfSku } from "./similar-skus.ts";

/** Instants are ISO 8601 in UTC. */
export interface SkuFacts {
  readonly sku: string;
  /** By the database's clock. */
  readonly now: number;
  /** The brand that was asked about; undefined for the one that shoppers see. */
  readonly asked: string | undefined;
  /** Names of all brands with a current generation. */
  readonly brands: readonly string[];
  /** The current generations that have the SKU, in the order in which the public API prefers them. */
  readonly offering: readonly Generation[];
  /** What the brand offers; undefined if it does not have the SKU. */
  readonly offer: Offer | undefined;
  /** Where the SKU was; undefined if there is an offer. */
  readonly past: Past | undefined;
  readonly importing: Importing;
  /** Other SKUs that may be meant; empty if any brand has this one. */
  readonly similar: readonly string[];
  readonly products: readonly ProductOfSku[];
  readonly visible: Visibility;
}

export interface Offer {
  readonly generation: Generation;
  /** In display order. */
  readonly personalization: Personalization;
}

/** The stored generations that were searched for a SKU: those of a brand, or of all brands. */
export interface Past {
  readonly searched: number;
  /** When the oldest of these was loaded; undefined if there is none. */
  readonly oldest: string | undefined;
  /** Undefined if none has the SKU. */
  readonly seen: Seen | undefined;
}

/** The newest generation with a SKU that its brand no longer offers. */
export interface Seen {
  readonly generation: Generation;
  readonly current: Generation;
  /** The first without the SKU; undefined if the current one is older, after a rollback. */
  readonly removal: Loaded | undefined;
}

/** A generation, and the import that loaded it. */
export interface Loaded {
  readonly generation: Generation;
  /** Undefined if the run is no longer stored. */
  readonly run: Run | undefined;
  /** Name of the file with the lines of SKUs. */
  readonly file: string | undefined;
  readonly removed: number | undefined;
}

interface Importing {
  readonly brand: string;
  readonly hasGeneration: boolean;
  readonly last: Run | undefined;
  /** Why the last one loaded nothing although it succeeded; undefined if it did. */
  readonly note: string | undefined;
  /** When they began to fail; undefined if the last one succeeded. */
  readonly failingSince: string | undefined;
  readonly lastSuccess: string | undefined;
  /** Undefined if the schedule is not paused. */
  readonly pause: JobPause | undefined;
}

interface Context {
  readonly database: Database;
  /** The service's own brand. */
  readonly brand: string;
  readonly visible: Visibility;
}

/**
 * Reads everything that explains what shoppers see of a SKU.
 * @param generations of all brands, the newest first
 */
export async function readSkuFacts(
  { database, brand: own, visible }: Context,
  sku: string,
  asked: string | undefined,
  generations: readonly Generation[],
): Promise<SkuFacts> {
  const now = Date.parse(await readNow(database));
  const current = generations.filter(({ isCurrent }) => isCurrent);
  const offering = inServedOrder(own, await listWithSku(database, current, sku));
  const generation = asked === undefined ? offering[0] : offering.find(({ brand }) => brand === asked);
  const offer = generation && {
    generation,
    personalization: parsePersonalization(await findInGeneration(database, generation.id, sku)),
  };
  const searched = asked === undefined ? generations : generations.filter(({ brand }) => brand === asked);
  const past = offer === undefined ? await readPast(database, sku, searched) : undefined;
  const brand = asked ?? generation?.brand ?? past?.seen?.generation.brand ?? defaultBrand(own, current);
  return {
    sku,
    now,
    asked,
    brands: current.map((each) => each.brand),
    offering,
    offer,
    past,
    importing: await readImporting(
      database,
      brand,
      current.some((each) => each.brand === brand),
    ),
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

async function readPast(database: Database, sku: string, searched: readonly Generation[]): Promise<Past> {
  const newestFirst = searched.toSorted((a, b) => b.id - a.id);
  const [last] = await listWithSku(database, newestFirst, sku);
  return {
    searched: searched.length,
    oldest: newestFirst.at(-1)?.loadedAt,
    seen: last && (await describeSeen(database, last, newestFirst)),
  };
}

async function describeSeen(
  database: Database,
  generation: Generation,
  newestFirst: readonly Generation[],
): Promise<Seen | undefined> {
  const { id, brand } = generation;
  const current = newestFirst.find((other) => other.brand === brand && other.isCurrent);
  const next = newestFirst.findLast((other) => other.brand === brand && other.id > id);
  if (current === undefined) return undefined;
  const isRemoved = next !== undefined && id < current.id;
  return { generation, current, removal: isRemoved ? await findLoaded(database, next) : undefined };
}

async function findLoaded(database: Database, generation: Generation): Promise<Loaded> {
  const kind = { job: personalizationImportName, brand: generation.brand };
  const run = await findLoadAt(database, kind, generation.loadedAt);
  const report = run && (await findReport(database, run.id))?.personalization;
  return {
    generation,
    run,
    file: report?.files.find(({ list }) => list === "pzlines")?.file,
    removed: report?.skus?.removed,
  };
}

async function readImporting(database: Database, brand: string, hasGeneration: boolean): Promise<Importing> {
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
    note: isNothingNew ? (await findReport(database, last.id))?.notes.at(-1) : undefined,
    failingSince: isFailing ? await findFailingSince(database, last) : undefined,
    lastSuccess,
    pause: pause?.resumedAt === null ? pause : undefined,
  };
}
