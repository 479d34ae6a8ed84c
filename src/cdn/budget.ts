import { refill } from "../base/token-bucket.ts";
import type { PurgePosition, PurgeState } from "./position.ts";
import { kinds } from "./tags.ts";
import type { PurgeTarget } from "./targets.ts";

/** If the tags take longer than this, each kind is purged as a whole. */
const maxWaitS = 10;
/** The rest is for other clients of the account, and for requests that catch up. */
const usableShare = 0.9;
/** Concurrent requests; without a budget, also the number of requests within `maxWaitS`. */
export const maxRequests = 500;

export interface TaggedRequest {
  readonly tags: readonly string[];
}

export class Budget {
  readonly #target: PurgeTarget;
  readonly #now: string;
  /** Tokens when nothing was purged for long, tokens now, and tokens within {@link maxWaitS}. */
  readonly burst: number;
  readonly available: number;
  readonly soon: number;

  constructor(target: PurgeTarget, { tokens }: Pick<PurgeState, "tokens">, now: string) {
    this.#target = target;
    this.#now = now;
    const { burst, perSecond } = target.budget ?? { burst: maxRequests, perSecond: 0 };
    // Always enough for one tag of each kind.
    this.burst = Math.max(kinds.length, Math.floor(burst * usableShare));
    // After the clock was set back, the time is in the future, perhaps far.
    const passedS = tokens === undefined ? 0 : Math.abs(Date.parse(now) - Date.parse(tokens.at)) / 1000;
    this.available = tokens === undefined ? this.burst : refill(tokens.left, passedS, { size: this.burst, perSecond });
    this.soon = this.available + perSecond * maxWaitS;
  }

  /** Beyond this number of tags, the budget would take too long. */
  get maxTagsSoon(): number {
    const { budget, maxTags } = this.#target;
    return budget?.unit === "tag" ? this.soon : this.soon * maxTags;
  }

  covers(requests: readonly TaggedRequest[], tokens = this.available): boolean {
    return costOf(requests, this.#target.budget) <= tokens;
  }

  without(requests: readonly TaggedRequest[]): PurgeState["tokens"] {
    if (this.#target.budget === undefined) return undefined;
    return { left: this.available - costOf(requests, this.#target.budget), at: this.#now };
  }
}

export function giveBack(state: PurgeState, unsent: readonly TaggedRequest[], { budget }: PurgeTarget): PurgeState {
  if (state.tokens === undefined) return state;
  return { ...state, tokens: { ...state.tokens, left: state.tokens.left + costOf(unsent, budget) } };
}

export const hasTokens = ({ state, now }: PurgePosition, target: PurgeTarget): boolean =>
  state === undefined || new Budget(target, state, now).covers([{ tags: [""] }]);

function costOf(requests: readonly TaggedRequest[], budget: PurgeTarget["budget"]): number {
  return budget?.unit === "tag" ? requests.reduce((sum, { tags }) => sum + tags.length, 0) : requests.length;
}
