import type { NumberedChange } from "../database/change.ts";
import { classify, type Position } from "../database/change-log.ts";
import { Budget, maxRequests, type TaggedRequest } from "./budget.ts";
import type { PurgeMark, PurgePosition, PurgeState } from "./position.ts";
import { addToBatches, kinds, listTags, simplify, type TagBatch, type TagKinds } from "./tags.ts";
import type { PurgeTarget } from "./targets.ts";

/**
 * When a change is purged again. No process lets a CDN keep a response that it could not have
 * verified within two seconds, so by then, no response with old data is in flight.
 */
export const secondPurgeS = 5;

export interface PurgeRange {
  readonly isEverything: boolean;
  /** Changes for a first purge, by number. */
  readonly first: readonly [after: number, upTo: number];
  readonly due: PurgeMark | undefined;
}

/**
 * @param settled the last change to purge; replicas may still serve old responses for later ones
 * @returns undefined if there is nothing to purge
 */
export function findRange(
  { state, newest, now }: PurgePosition,
  settled: Position | undefined,
  form: string,
): PurgeRange | undefined {
  const everything = { isEverything: true, first: [newest.number, newest.number], due: undefined } as const;
  if (state === undefined || state.form !== form) return everything;
  const { first, second, history, marks } = state;
  const purged = { number: first, history };
  const kind = classify(purged, newest);
  if (kind === "skipped" || kind === "replaced") return everything;
  // After the clock was set back, a mark is in the future.
  const isDue = ({ at }: PurgeMark) => Math.abs(Date.parse(now) - Date.parse(at)) >= secondPurgeS * 1000;
  const dueMarks = marks.slice(0, marks.findLastIndex(isDue) + 1);
  const last = dueMarks.at(-1);
  const isDueEverything =
    dueMarks.some((mark) => mark.isEverything) || classify({ number: second, history }, newest) === "skipped";
  const due = last && { ...last, isEverything: isDueEverything };
  const upTo = settled !== undefined && classify(purged, settled) === "advanced" ? settled.number : undefined;
  if (upTo === undefined && due === undefined) return undefined;
  return { isEverything: false, first: [first, upTo ?? first], due };
}

export interface PurgePlan {
  readonly isEverything: boolean;
  readonly requests: readonly TaggedRequest[];
  readonly reserved: PurgeState;
  readonly next: PurgeState;
}

export interface RangeChanges {
  readonly first: readonly NumberedChange[];
  readonly due: readonly NumberedChange[];
}

/** Decides what to purge now. @returns undefined if the provider's budget has to recover first */
export function planPurge(
  position: PurgePosition,
  range: PurgeRange,
  changes: RangeChanges,
  target: PurgeTarget,
  form: string,
): PurgePlan | undefined {
  const { newest, now } = position;
  const state = position.state ?? createState(newest.number);
  const { atOnce = maxRequests } = state;
  const budget = new Budget(target, state, now);
  const choice = choose(range, changes, target, budget, atOnce);
  if (choice === undefined) return undefined;
  const { first, due, upTo, settled } = choice;
  const { isEverything } = range;
  const requests = toRequests(first, due, target);
  const reserved = { ...state, tokens: budget.without(requests) };
  const marks = isEverything ? [] : state.marks.filter((mark) => settled === undefined || mark.upTo > settled);
  if (isEverything || upTo > state.first) marks.push({ upTo, isEverything, at: now });
  return {
    isEverything,
    requests,
    reserved,
    next: {
      ...reserved,
      form,
      history: newest.history,
      first: upTo,
      second: settled ?? state.second,
      marks,
      atOnce: atOnce < maxRequests ? 2 * atOnce : undefined,
      failure: undefined,
    },
  };
}

interface Choice {
  readonly first: TagKinds;
  readonly due: TagKinds;
  readonly upTo: number;
  /** Undefined without a second purge. */
  readonly settled: number | undefined;
}

/** @param atOnce how many requests may be sent before the state is saved */
function choose(
  range: PurgeRange,
  changes: RangeChanges,
  target: PurgeTarget,
  budget: Budget,
  atOnce: number,
): Choice | undefined {
  const nothing: TagKinds = new Map();
  const [after, upTo] = range.first;
  if (range.isEverything) {
    const isCarried = budget.covers(toRequests(allKinds(), nothing, target));
    return isCarried ? { first: allKinds(), due: nothing, upTo, settled: upTo } : undefined;
  }
  const settled = range.due?.upTo;
  const first = collectTags(changes.first, budget.maxTagsSoon);
  const due = range.due?.isEverything ? allKinds() : collectTags(changes.due, budget.maxTagsSoon);
  const all = toRequests(first, due, target);
  const fits = (requests: readonly TaggedRequest[]) => requests.length <= atOnce && budget.covers(requests);
  if (fits(all)) return { first, due, upTo, settled };
  if (budget.covers(all, budget.soon)) {
    const begin = takePrefix(changes.first, target, fits);
    if (begin !== undefined) return { first: begin.tags, due: nothing, upTo: begin.upTo, settled: undefined };
    const rest = first.size === 0 ? takePrefix(changes.due, target, fits) : undefined;
    if (rest !== undefined) return { first: nothing, due: rest.tags, upTo: after, settled: rest.upTo };
    // A single change may have more tags than a request.
    if (budget.covers(all)) return { first, due, upTo, settled };
    if (budget.covers(all, budget.burst)) return undefined;
  }
  // Starts with the kind that has the most tags, so that responses of the other kind may stay.
  for (const [ofFirst, ofDue] of collapse(first, due)) {
    if (budget.covers(toRequests(ofFirst, ofDue, target))) return { first: ofFirst, due: ofDue, upTo, settled };
  }
  return undefined;
}

/** The state of a cache that has never been purged, so that nothing is known about it. */
const createState = (newest: number): PurgeState => ({
  form: "",
  history: "",
  first: newest,
  second: newest,
  marks: [],
  tokens: undefined,
  atOnce: undefined,
  failure: undefined,
});

const allKinds = (): TagKinds => new Map(kinds.map((kind) => [kind, kind]));

/** Collects tags of changes. Beyond `maxTags`, the kind with the most becomes one tag. */
function collectTags(changes: readonly NumberedChange[], maxTags: number): TagKinds {
  const tags: TagKinds = new Map();
  for (const change of changes) {
    for (const tag of listTags(change)) {
      if (tags.has(change.noun)) break;
      tags.set(tag, change.noun);
      if (tags.size > maxTags) purgeWhole(tags, sortByCount([tags]).slice(0, 1));
    }
  }
  return tags;
}

function purgeWhole(tags: TagKinds, whole: readonly NumberedChange["noun"][]): void {
  const found = new Set<NumberedChange["noun"]>();
  for (const [tag, kind] of tags) {
    if (!whole.includes(kind)) continue;
    tags.delete(tag);
    found.add(kind);
  }
  for (const kind of found) tags.set(kind, kind);
}

/** One purge of a tag covers first and second purges. */
function toRequests(first: TagKinds, due: TagKinds, target: PurgeTarget): readonly TaggedRequest[] {
  const batches: TagBatch[] = [];
  for (const tag of simplify(new Map([...first, ...due]))) addToBatches(batches, tag, target);
  return batches;
}

/** The first changes whose tags fit; undefined if even one change does not fit. */
function takePrefix(
  changes: readonly NumberedChange[],
  target: PurgeTarget,
  fits: (batches: readonly TaggedRequest[]) => boolean,
): { readonly tags: TagKinds; readonly upTo: number } | undefined {
  const tags: TagKinds = new Map();
  const batches: TagBatch[] = [];
  let upTo: number | undefined;
  for (const change of changes) {
    const before = tags.size;
    for (const tag of listTags(change)) {
      if (tags.has(change.noun)) break;
      if (tags.has(tag)) continue;
      tags.set(tag, change.noun);
      addToBatches(batches, tag, target);
    }
    if (!fits(batches)) {
      for (const tag of [...tags.keys()].slice(before)) tags.delete(tag);
      break;
    }
    upTo = change.number;
  }
  return upTo === undefined ? undefined : { tags, upTo };
}

/** Purges of the kind with the most tags as a whole, then of both kinds. */
function collapse(first: TagKinds, due: TagKinds): [TagKinds, TagKinds][] {
  const byCount = sortByCount([first, due]);
  return byCount.map((_, index) => {
    const replace = (tags: TagKinds): TagKinds => {
      const replaced = new Map(tags);
      purgeWhole(replaced, byCount.slice(0, index + 1));
      return replaced;
    };
    return [replace(first), replace(due)];
  });
}

function sortByCount(tags: readonly TagKinds[]) {
  const counts = new Map(kinds.map((kind) => [kind, 0]));
  for (const each of tags) for (const kind of each.values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return kinds.toSorted((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
}
