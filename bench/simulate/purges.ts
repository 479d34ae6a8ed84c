import type { PurgeOptions } from "../../src/config/purge.ts";
import { maxWaitS, usableShare } from "../../src/purge/budget.ts";
import { pollMs } from "../../src/purge/follower.ts";
import { secondPurgeS } from "../../src/purge/plan.ts";
import type { PurgeBudget, PurgeTarget } from "../../src/purge/target.ts";
import { createTargets } from "../../src/purge/targets.ts";
import type { Fleet } from "./parameters.ts";

const pollS = pollMs / 1000;

export interface Purges {
  /** Tags that the provider accepts per second; infinite for Varnish. */
  readonly capacity: number;
  /** Tags to purge per second. */
  readonly demand: number;
  /** With more changed SKUs in one feed, all personalization is purged. */
  readonly feedCapacity: number;
  /** How long a change waits for the budget on average, and at most. */
  readonly waitS: number;
  readonly maxWaitS: number;
  /** Purges of all products, and of all personalization, per second, as tags do not fit the budget. */
  readonly wholeProducts: number;
  readonly wholePersonalization: number;
}

const none: Purges = {
  capacity: Number.POSITIVE_INFINITY,
  demand: 0,
  feedCapacity: Number.POSITIVE_INFINITY,
  waitS: 0,
  maxWaitS: 0,
  wholeProducts: 0,
  wholePersonalization: 0,
};

const common = { api_url: "https://api.example", max_age: 1 };
const cloudflare = { cdn: "cloudflare", zone: "", ...common } as const;
/** Only the limits of the targets are read, which do not depend on the account. */
const options: Partial<Record<Fleet["cdn"], PurgeOptions>> = {
  fastly: { cdn: "fastly", service: "", soft: false, ...common },
  "cloudflare-free": { ...cloudflare, plan: "free" },
  "cloudflare-pro": { ...cloudflare, plan: "pro" },
  "cloudflare-business": { ...cloudflare, plan: "business" },
  "cloudflare-enterprise": { ...cloudflare, plan: "enterprise" },
};

/** The CDN that a fleet has, as the service sees it; undefined for one without a limit. */
export function purgeTargetOf(cdn: Fleet["cdn"]): PurgeTarget | undefined {
  const purge = options[cdn];
  return purge && createTargets(purge, "")[0];
}

/** @param feedLimit changed SKUs beyond which an import records only that everything changed */
export function purgesOf(fleet: Fleet, feedLimit: number): Purges {
  if (fleet.cdn === "none" || fleet.purge === "off") return none;
  const target = purgeTargetOf(fleet.cdn);
  const feedsPerSecond = 1 / (fleet.feed_minutes * 60);
  // Each change is purged twice.
  const steady = 2 * fleet.product_changes_per_second;
  const demand = steady + 2 * Math.min(fleet.feed_changes, feedLimit) * feedsPerSecond;
  const wholePersonalization = (feedCapacity: number) => (fleet.feed_changes > feedCapacity ? feedsPerSecond : 0);
  if (target?.budget === undefined)
    return { ...none, demand, feedCapacity: feedLimit, wholePersonalization: wholePersonalization(feedLimit) };
  const { budget, maxTags } = target;
  const perToken = budget.unit === "tag" ? 1 : maxTags;
  const capacity = budget.perSecond * perToken;
  const feedCapacity = Math.min(feedLimit, tokensForFeed(steady, 1 / feedsPerSecond, capacity, budget) * perToken);
  // A purge waits for one token, and may wait for those of some seconds.
  const soon = Math.floor(1 + budget.perSecond * maxWaitS);
  const longestWaitS = Math.max(spacing(steady, budget), backlogS(steady, capacity, soon * perToken));
  return {
    capacity,
    demand,
    feedCapacity,
    waitS: longestWaitS / 2,
    maxWaitS: longestWaitS,
    wholeProducts: wholePurges(steady, capacity, soon, perToken, budget),
    wholePersonalization: wholePersonalization(feedCapacity),
  };
}

/** Tokens per second that single changes take, if there are enough: those of a poll share a request. */
const wantedTokens = (tagsPerSecond: number, { unit }: PurgeBudget) =>
  unit === "tag" ? tagsPerSecond : -Math.expm1(-tagsPerSecond * pollS) / pollS;

/** Tokens that the purge of a feed may take, so that it and the second purge get them. */
function tokensForFeed(tagsPerSecond: number, betweenFeedsS: number, capacity: number, budget: PurgeBudget): number {
  const { burst, perSecond } = budget;
  const usable = Math.floor(usableShare * burst);
  const restored = perSecond - wantedTokens(tagsPerSecond, budget);
  // Steady changes take each token as it comes, and gather while a feed waits for its tokens.
  if (restored <= 0) return Math.floor(Math.min(usable / (1 + tagsPerSecond / capacity), 1 + perSecond * maxWaitS));
  const forBoth = usable + restored * (secondPurgeS + maxWaitS);
  return Math.floor(Math.min(usable, forBoth / 2, (restored * betweenFeedsS) / 2));
}

/** Seconds between two requests, if the changes of several polls have to share one. */
function spacing(tagsPerSecond: number, budget: PurgeBudget): number {
  return wantedTokens(tagsPerSecond, budget) > budget.perSecond ? 1 / budget.perSecond : 0;
}

/**
 * The longest wait of a change in a backlog, which grows until it exceeds what the budget carries soon,
 * and is then purged as a whole. First purges precede second ones.
 */
function backlogS(tagsPerSecond: number, capacity: number, soonTags: number): number {
  const first = tagsPerSecond / 2;
  return first <= capacity ? 0 : (soonTags / (tagsPerSecond - capacity)) * (1 - capacity / first);
}

/** How often all products are purged, per second. */
function wholePurges(
  tagsPerSecond: number,
  capacity: number,
  soon: number,
  perToken: number,
  { unit, perSecond }: PurgeBudget,
): number {
  // Where no second request comes soon, the tags that gathered for one may be too many for it.
  if (unit === "request" && soon === 1) return perSecond * poissonExceeds(tagsPerSecond / perSecond, perToken);
  return Math.min(perSecond, Math.max(0, tagsPerSecond - capacity) / (soon * perToken));
}

/** Probability that a number of random events with this mean is above a limit. */
function poissonExceeds(mean: number, limit: number): number {
  let term = Math.exp(-mean);
  let sum = term;
  for (let count = 1; count <= limit; count++) {
    term *= mean / count;
    sum += term;
  }
  return Math.max(0, 1 - sum);
}
