import { findRange, type PurgePlan, planPurge, secondPurgeS } from "../../src/cdn/plan.ts";
import type { PurgePosition, PurgeState } from "../../src/cdn/position.ts";
import type { PurgeTarget } from "../../src/cdn/targets.ts";
import type { NumberedChange } from "../../src/database/change.ts";

export const startMs = Date.parse("2026-11-22T00:00:00.000Z");
export const at = (ms: number) => new Date(startMs + ms).toISOString();

export const target = (changes: Partial<PurgeTarget> = {}): PurgeTarget => ({
  name: "test",
  maxTags: 10,
  maxBytes: 1000,
  budget: undefined,
  toRequest: () => ({ url: "", method: "", headers: {} }),
  ...changes,
});

/** Of a cache in which nothing is to be purged. */
export const idleState: PurgeState = {
  ...{ form: "", history: "1", first: 1, second: 1, marks: [] },
  ...{ tokens: undefined, atOnce: undefined, failure: undefined },
};

/** A store with changes, and a cache that is purged step by step. */
export function createWorld(of: PurgeTarget, initial?: PurgeState) {
  const log: NumberedChange[] = [];
  const world = {
    log,
    nowMs: 0,
    state: initial,
    newest: 0,
    history: "1",
    sent: [] as { atMs: number; tags: readonly string[] }[],
    addProduct: (id: string) => log.push({ number: ++world.newest, noun: "product", key: id }),
    addFingerprints: (...fingerprints: number[]) =>
      log.push({ number: ++world.newest, noun: "personalization", fingerprints: new Set(fingerprints) }),
    plan: (form = "a"): PurgePlan | undefined => {
      const position: PurgePosition = {
        state: world.state,
        newest: { number: world.newest, history: world.history },
        now: at(world.nowMs),
      };
      const range = findRange(position, position.newest, form);
      if (range === undefined) return undefined;
      const between = (after: number, upTo: number) => log.filter(({ number }) => number > after && number <= upTo);
      const changes = {
        first: between(...range.first),
        due: range.due === undefined ? [] : between(world.state?.second ?? 0, range.due.upTo),
      };
      return planPurge(position, range, changes, of, form);
    },
    /** @param isKilled whether the process ends after it has sent the requests */
    step: (form = "a", isKilled = false): void => {
      const plan = world.plan(form);
      if (plan === undefined) return;
      world.state = plan.reserved;
      for (const request of plan.requests) world.sent.push({ atMs: world.nowMs, ...request });
      if (!isKilled) world.state = plan.next;
    },
    take: () => world.sent.splice(0).map(({ tags }) => tags),
  };
  return world;
}

/** A world in which everything has been purged. */
export function createPurged(of: PurgeTarget) {
  const world = createWorld(of);
  world.step();
  world.nowMs += secondPurgeS * 1000;
  world.step();
  world.sent.length = 0;
  world.nowMs += 3_600_000;
  return world;
}
