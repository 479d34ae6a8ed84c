import { keptChanges, type NumberedChange } from "../database/change.ts";
import type { PurgeMark, PurgePosition, PurgeState } from "../database/purge.ts";
import { addTags, kinds, simplify, type TagKinds, toBatches } from "./tags.ts";
import type { PurgeTarget } from "./target.ts";

/**
 * When a change is purged again. No process lets a CDN keep a response that it could not have
 * verified within two seconds, so after this time, none with the old data is on its way any more.
 */
export const secondPurgeS = 5;
/** Purges that the budget carries within this time are sent one by one; more become one of a kind. */
const maxWaitS = 10;
/** The rest is for what other clients of the account send, and for requests that catch up. */
const usableShare = 0.9;
/** For a provider without a budget. */
const maxRequests = 500;

/** The changes that a purge may cover. */
export interface PurgeRange {
  /** Everything is to be purged, because the changes are unknown. */
  readonly isEverything: boolean;
  /** Changes to purge for the first time: after one number, and up to another. */
  readonly first: readonly [after: number, upTo: number];
  /** The last mark whose second purge is due, and whether that is of everything. */
  readonly due: PurgeMark | undefined;
}

/**
 * Finds out whether there is anything to purge.
 * @param upTo the last change to purge; replicas may still serve old responses for later ones
 */
export function findRange({ state, newest, now }: PurgePosition, upTo: number, form: string): PurgeRange | undefined {
  if (state === undefined || state.form !== form)
    return { isEverything: true, first: [newest, newest], due: undefined };
  const { first, second, marks } = state;
  // The store was restored from a backup, or changes have already been deleted from its log.
  const isLost = newest < first || newest - first >= keptChanges;
  if (isLost) return { isEverything: true, first: [newest, newest], due: undefined };
  // After the clock was set back, a mark is in the future.
  const isDue = ({ at }: PurgeMark) => Math.abs(Date.parse(now) - Date.parse(at)) >= secondPurgeS * 1000;
  const dueMarks = marks.slice(0, marks.findLastIndex(isDue) + 1);
  const last = dueMarks.at(-1);
  const isDueEverything = dueMarks.some((mark) => mark.isEverything) || newest - second >= keptChanges;
  const due = last && { ...last, isEverything: isDueEverything };
  return upTo > first || due !== undefined
    ? { isEverything: false, first: [first, Math.max(first, upTo)], due }
    : undefined;
}

export interface PurgePlan {
  readonly requests: readonly { readonly tags: readonly string[]; readonly isSoft: boolean }[];
  /** The state before the requests are sent: without the tokens that they take. */
  readonly reserved: PurgeState;
  /** The state after they succeeded. */
  readonly next: PurgeState;
}

/** The changes within a {@link PurgeRange}. */
export interface RangeChanges {
  readonly first: readonly NumberedChange[];
  readonly due: readonly NumberedChange[];
}

/**
 * Decides what to purge now, within the provider's budget.
 * @returns undefined if the budget has to recover first
 */
export function planPurge(
  position: PurgePosition,
  range: PurgeRange,
  changes: RangeChanges,
  target: PurgeTarget,
  form: string,
): PurgePlan | undefined {
  const { newest, now } = position;
  const state = position.state ?? createState(newest);
  const budget = new Budget(target, state, now);
  const nothing: TagKinds = new Map();
  const carries = (tags: TagKinds) => budget.carries(toRequests(tags, nothing, target));
  /** @param settled the last change that is then purged for the second time; undefined if none is */
  const plan = (first: TagKinds, due: TagKinds, upTo: number, settled: number | undefined): PurgePlan => {
    const requests = toRequests(first, due, target);
    const reserved = { ...state, tokens: budget.without(requests) };
    const marks = state.marks.filter(
      ({ upTo: end }) => !range.isEverything && (settled === undefined || end > settled),
    );
    if (range.isEverything || upTo > state.first) marks.push({ upTo, isEverything: range.isEverything, at: now });
    return {
      requests,
      reserved,
      next: { ...reserved, form, first: upTo, second: settled ?? state.second, marks, failure: undefined },
    };
  };

  if (range.isEverything) return carries(allKinds()) ? plan(allKinds(), nothing, newest, newest) : undefined;
  const [after, upTo] = range.first;
  const settled = range.due?.upTo;
  const first = tagsOf(changes.first);
  const due = range.due?.isEverything ? allKinds() : tagsOf(changes.due);
  const all = toRequests(first, due, target);
  if (budget.carries(all)) return plan(first, due, upTo, settled);
  if (budget.carriesSoon(all)) {
    const begin = takePrefix(changes.first, carries);
    if (begin !== undefined) return plan(begin.tags, nothing, begin.upTo, undefined);
    const rest = first.size === 0 ? takePrefix(changes.due, carries) : undefined;
    if (rest !== undefined) return plan(nothing, rest.tags, after, rest.upTo);
    if (budget.canEverCarry(all)) return undefined;
  }
  // The kind with the most tags first: the responses of the other may stay.
  for (const collapsed of collapse(first, due)) {
    if (budget.carries(toRequests(...collapsed, target))) return plan(...collapsed, upTo, settled);
  }
  return undefined;
}

/** Of a cache that has not been purged yet, up to which nothing is known. */
const createState = (newest: number): PurgeState => ({
  form: "",
  first: newest,
  second: newest,
  marks: [],
  tokens: undefined,
  failure: undefined,
});

const allKinds = (): TagKinds => new Map(kinds.map((kind) => [kind, kind]));

function tagsOf(changes: readonly NumberedChange[]): TagKinds {
  const tags: TagKinds = new Map();
  for (const change of changes) addTags(tags, change);
  return tags;
}

type Requests = PurgePlan["requests"];

/** One purge covers both, unless the first one is soft. */
function toRequests(first: TagKinds, due: TagKinds, target: PurgeTarget): Requests {
  const batches = (tags: TagKinds, isSoft: boolean) =>
    toBatches(simplify(tags), target).map((batch) => ({ tags: batch, isSoft }));
  if (target.isSoftFirst) return [...batches(first, true), ...batches(due, false)];
  return batches(new Map([...first, ...due]), false);
}

/** The first changes whose tags fit; undefined if not even those of one change do. */
function takePrefix(
  changes: readonly NumberedChange[],
  fits: (tags: TagKinds) => boolean,
): { readonly tags: TagKinds; readonly upTo: number } | undefined {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(tagsOf(changes.slice(0, middle)))) low = middle;
    else high = middle - 1;
  }
  const last = changes[low - 1];
  return last && { tags: tagsOf(changes.slice(0, low)), upTo: last.number };
}

/** Purges of the kind with the most tags as a whole, then of both. */
function collapse(first: TagKinds, due: TagKinds): [TagKinds, TagKinds][] {
  const counts = new Map(kinds.map((kind) => [kind, 0]));
  for (const tags of [first, due]) for (const kind of tags.values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const byCount = kinds.toSorted((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
  return byCount.map((_, index) => {
    const whole = byCount.slice(0, index + 1);
    const replace = (tags: TagKinds): TagKinds =>
      new Map([...tags].map(([tag, kind]) => [whole.includes(kind) ? kind : tag, kind]));
    return [replace(first), replace(due)];
  });
}

/** The tokens that a provider's budget has at a time. */
class Budget {
  readonly #target: PurgeTarget;
  readonly #now: string;
  readonly #burst: number;
  readonly #available: number;

  constructor(target: PurgeTarget, { tokens }: PurgeState, now: string) {
    this.#target = target;
    this.#now = now;
    const { burst, perSecond } = target.budget ?? { burst: maxRequests, perSecond: 0 };
    // Enough for one tag of each kind in any case.
    this.#burst = Math.max(kinds.length, Math.floor(burst * usableShare));
    // A clock that was set back restores nothing.
    const passedS = tokens === undefined ? 0 : Math.max(0, Date.parse(now) - Date.parse(tokens.at)) / 1000;
    this.#available = tokens === undefined ? this.#burst : Math.min(this.#burst, tokens.left + passedS * perSecond);
  }

  carries(requests: Requests): boolean {
    return this.#costOf(requests) <= this.#available;
  }

  carriesSoon(requests: Requests): boolean {
    return this.#costOf(requests) <= this.#available + (this.#target.budget?.perSecond ?? 0) * maxWaitS;
  }

  canEverCarry(requests: Requests): boolean {
    return this.#costOf(requests) <= this.#burst;
  }

  without(requests: Requests): PurgeState["tokens"] {
    if (this.#target.budget === undefined) return undefined;
    return { left: this.#available - this.#costOf(requests), at: this.#now };
  }

  #costOf(requests: Requests): number {
    if (this.#target.budget?.unit !== "tag") return requests.length;
    return requests.reduce((sum, { tags }) => sum + tags.length, 0);
  }
}
