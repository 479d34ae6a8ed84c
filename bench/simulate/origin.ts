import { maxFingerprints } from "../../src/personalization/changes.ts";
import { type Costs, type Kind, kinds } from "./costs.ts";
import { afterPurges, type CachedClass, classesOf, type EdgePolicy, edgeHitRatios } from "./edge.ts";
import type { Fleet } from "./parameters.ts";
import { zipfClasses } from "./popularity.ts";
import { type Purges, purgesOf } from "./purges.ts";

/** A class of objects with what passes the CDN. */
export interface OriginClass extends CachedClass {
  readonly kind: Kind;
  /** Requests per second for each object that the CDN does not answer. */
  readonly originRate: number;
  /** Of these, those after changes. */
  readonly afterChanges: (replicas: number) => AfterChanges;
}

/**
 * The first and the second request at a replica after a change, per second, at all replicas that get any;
 * and the requests that come at random.
 */
interface AfterChanges {
  readonly first: number;
  readonly second: number;
  readonly others: number;
}

/** The requests that the CDN does not answer. */
export interface Origin {
  readonly classes: readonly OriginClass[];
  readonly purges: Purges;
}

/** Predicts the requests that pass the CDN, and its purges. */
export function originOf(fleet: Fleet, costs: Costs): Origin {
  const purges = purgesOf(fleet, maxFingerprints);
  const isFeedUnknown = fleet.feed_changes > maxFingerprints;
  const feedsPerSecond = 1 / (fleet.feed_minutes * 60);
  const changedSkus = isFeedUnknown ? fleet.skus : Math.min(fleet.feed_changes, fleet.skus);
  const details = {
    personalization: {
      objects: fleet.skus,
      rate: fleet.requests_per_second * fleet.personalization_share,
      changes: (changedSkus / fleet.skus) * feedsPerSecond,
      wholePurges: isFeedUnknown ? 0 : purges.wholePersonalization,
    },
    product: {
      objects: fleet.products,
      rate: fleet.requests_per_second * (1 - fleet.personalization_share),
      changes: fleet.product_changes_per_second / fleet.products,
      wholePurges: purges.wholeProducts,
    },
  };
  const caches = fleet.points_of_presence;
  const groups = kinds.flatMap((kind) => {
    const { objects, rate, changes, wholePurges } = details[kind];
    const { edgeBytes, replicaBytes } = costs[kind];
    const policy: EdgePolicy = {
      megabytes: fleet.edge_megabytes,
      ttlS: fleet.edge_seconds,
      isPurged: fleet.purge === "on",
      wholePurges,
    };
    const classes = classesOf(zipfClasses(objects, fleet.skew), rate / caches, {
      changes,
      bytes: edgeBytes,
    });
    return classes.map((one) => ({ kind, one, policy, bytes: replicaBytes }));
  });
  if (fleet.cdn === "none") {
    const classes = groups.map(({ kind, one, bytes }) => {
      const rate = one.rate * caches;
      const afterChanges = (replicas: number) => countAfterChanges({ ...one, rate }, 0, replicas, rate);
      return { ...one, kind, bytes, rate, originRate: rate, afterChanges };
    });
    return { classes, purges };
  }
  const ratios = edgeHitRatios(groups.map(({ one, policy }) => [one, policy]));
  const classes = groups.map(({ kind, one, policy, bytes }, index) => {
    const originRate = one.rate * (1 - (ratios[index] ?? 0)) * caches;
    const purged = policy.isPurged ? caches : 0;
    const afterChanges = (replicas: number) => countAfterChanges(one, purged, replicas, originRate);
    return { ...one, kind, bytes, rate: one.rate * caches, originRate, afterChanges };
  });
  return { classes, purges };
}

/**
 * Requests that follow changes of an object. After each purge, each cache of the CDN asks once. The
 * replica that it reaches has read the change already, or reads it. Other requests come at random.
 * @param caches those that are purged
 */
function countAfterChanges(
  { rate, changes }: CachedClass,
  caches: number,
  replicas: number,
  originRate: number,
): AfterChanges {
  if (changes === 0) return { first: 0, second: 0, others: originRate };
  const { first, second } = afterPurges({ rate, changes });
  // Requests of which there is one for each change are counted here; the rest come at random.
  const others = Math.max(0, originRate - changes * caches * (first + second));
  // Of one cache, and one replica: neither, or just one of its two requests.
  const neither = (1 - first / replicas) * (1 - second / replicas);
  const either = (first + second - (2 * first * second) / replicas) / replicas;
  const noneOfPurges = neither ** caches;
  const oneOfPurges = caches === 0 ? 0 : caches * either * neither ** (caches - 1);
  // Until the next change.
  const noneOfOthers = changes / (changes + others / replicas);
  const none = noneOfPurges * noneOfOthers;
  const once = oneOfPurges * noneOfOthers + none * (1 - noneOfOthers);
  return { first: changes * replicas * (1 - none), second: changes * replicas * (1 - none - once), others };
}
