import { createRandom } from "../../bench/support/sequence.ts";
import { percentile } from "../../bench/support/statistics.ts";
import type { Change, NumberedChange } from "../../src/database/change.ts";
import type { PurgeState } from "../../src/database/purge.ts";
import { gatherMs } from "../../src/model/cdn.ts";
import { pollMs } from "../../src/purge/follower.ts";
import { findRange, planPurge } from "../../src/purge/plan.ts";
import type { PurgeTarget } from "../../src/purge/target.ts";

/** Changes whose purges are simulated one by one, with a full budget at the beginning. */
export interface ChangeStream {
  readonly changesPerSecond: number;
  readonly feedChanges: number;
  readonly feedS: number;
  readonly hours: number;
}

/** While the budget has to recover. */
const refusedMs = 250;
const form = "form";
const history = "history";

/**
 * Runs the service's own plan by a clock that is set forward.
 * @returns per hour, how often all products were purged; per feed, all personalization; and how long
 * 99 % of the changes of products wait at most, in seconds
 */
export function simulatePurges(stream: ChangeStream, target: PurgeTarget) {
  const { changesPerSecond, feedChanges, feedS, hours } = stream;
  const random = createRandom(13);
  const changes: NumberedChange[] = [];
  const committedS: number[] = [];
  const commit = (change: Change, atS: number) => {
    changes.push({ ...change, number: changes.length + 1 });
    committedS.push(atS);
  };
  const exponential = () => -Math.log1p(-random()) / changesPerSecond;
  const between = (after: number, upTo: number) => changes.slice(after, upTo);
  let state: PurgeState = {
    ...{ form, history, first: 0, second: 0, marks: [] },
    ...{ tokens: undefined, atOnce: undefined, failure: undefined },
  };
  let [changeAtS, feedAtS] = [exponential(), feedS / 2];
  let [feeds, wholeProducts, wholePersonalization] = [0, 0, 0];
  const waitsS: number[] = [];
  let seen: { atMs: number; newest: number }[] = [];
  for (let nowMs = 0; nowMs < hours * 3_600_000; ) {
    for (; changeAtS * 1000 <= nowMs; changeAtS += exponential())
      commit({ noun: "product", key: `${Math.floor(random() * 100_000)}` }, changeAtS);
    for (; feedAtS * 1000 <= nowMs; feedAtS += feedS) {
      feeds++;
      const fingerprints = new Set(Array.from({ length: feedChanges }, () => Math.floor(random() * 2 ** 48)));
      commit({ noun: "personalization", fingerprints }, feedAtS);
    }
    if (seen.at(-1)?.newest !== changes.length) seen.push({ atMs: nowMs, newest: changes.length });
    const settled = seen.findLastIndex(({ atMs }) => nowMs - atMs >= gatherMs);
    seen = seen.slice(Math.max(0, settled));
    const position = { state, newest: changes.length, history, now: new Date(nowMs).toISOString() };
    const range = findRange(position, settled < 0 ? 0 : (seen[0]?.newest ?? 0), form);
    if (range === undefined) {
      nowMs += pollMs;
      continue;
    }
    const found = { first: between(...range.first), due: between(state.second, range.due?.upTo ?? state.second) };
    const plan = planPurge(position, range, found, target, form);
    if (plan !== undefined) {
      for (const atS of committedS.slice(state.first, plan.next.first)) waitsS.push(nowMs / 1000 - atS);
      const tags = plan.requests.flatMap((request) => request.tags);
      if (tags.includes("product")) wholeProducts++;
      if (tags.includes("personalization")) wholePersonalization++;
      state = plan.next;
    }
    nowMs += plan === undefined ? refusedMs : pollMs;
  }
  return {
    wholeProducts: wholeProducts / hours,
    wholePersonalization: wholePersonalization / feeds,
    waitS: percentile(waitsS, 0.99),
  };
}
