import type { PurgeOptions } from "../../src/config/purge.ts";
import { pollMs } from "../../src/purge/follower.ts";
import { maxWaitS, usableShare } from "../../src/purge/plan.ts";
import type { PurgeBudget } from "../../src/purge/target.ts";
import { createTargets } from "../../src/purge/targets.ts";
import type { Fleet } from "./parameters.ts";

const pollS = pollMs / 1000;

export interface Purges {
  /** Tags that the provider accepts per second; infinite for Varnish. */
  readonly capacity: number;
  /** Tags to purge per second. */
  readonly demand: number;
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

/** @param feedLimit changed SKUs beyond which an import records only that everything changed */
export function purgesOf(fleet: Fleet, feedLimit: number): Purges {
  if (fleet.cdn === "none" || fleet.purge === "off") return none;
  const of = options[fleet.cdn];
  const [target] = of === undefined ? [] : createTargets(of, "");
  const feedsPerSecond = 1 / (fleet.feed_minutes * 60);
  const unknown = fleet.feed_changes > feedLimit ? feedsPerSecond : 0;
  // Each change is purged twice.
  const [steady, burst] = [2 * fleet.product_changes_per_second, Math.min(fleet.feed_changes, feedLimit)];
  const demand = steady + 2 * burst * feedsPerSecond;
  if (target?.budget === undefined) return { ...none, demand, wholePersonalization: unknown };
  const { budget, maxTags } = target;
  const perToken = budget.unit === "tag" ? 1 : maxTags;
  const capacity = budget.perSecond * perToken;
  // A purge waits for one token, and may wait for those of some seconds.
  const carried = (tokens: number) => Math.floor(tokens + budget.perSecond * maxWaitS) * perToken;
  const [soon, full] = [carried(1), carried(Math.floor(usableShare * budget.burst))];
  // A feed comes when nothing else has taken the budget, unless steady changes take all of it.
  const isFeedWhole = burst > (steady < capacity ? full : soon);
  const betweenS = spacing(steady, budget);
  const backlog = steady - capacity;
  return {
    capacity,
    demand,
    waitS: betweenS / 2,
    maxWaitS: betweenS,
    // The backlog grows until it exceeds what the budget carries soon, and is then purged as a whole.
    wholeProducts: backlog > 0 ? backlog / soon : 0,
    wholePersonalization: isFeedWhole ? feedsPerSecond : unknown,
  };
}

/** Seconds between two requests, if the changes of several polls have to share one. */
function spacing(tagsPerSecond: number, { unit, perSecond }: PurgeBudget): number {
  if (unit === "tag") return tagsPerSecond > perSecond ? 1 / perSecond : 0;
  const perSecondWanted = -Math.expm1(-tagsPerSecond * pollS) / pollS;
  return perSecondWanted > perSecond ? 1 / perSecond : 0;
}
