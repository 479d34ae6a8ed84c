import type { RunErrorCode } from "./bulk/run.ts";
import { createChance } from "./catalog/dice.ts";

/** When a fault strikes. With neither a chance nor a count it strikes once. */
export interface FaultTrigger {
  /** An operation's name, with `*` for any part; also `AccessToken` and `BulkDownload`. Without it, every request. */
  readonly operation?: string;
  /** From 0 to 1. */
  readonly probability?: number;
  /** How many times at most. */
  readonly count?: number;
  /** Requests let through before it may strike. */
  readonly skip?: number;
}

export type FaultEffect =
  /** 402, 403, 423, 429, 430, 500, 502, 503, 504; `retryAfter` as on the wire, "2.0" for 429 unless said otherwise. */
  | { readonly kind: "status"; readonly status: number; readonly retryAfter?: string }
  /** Never answers. */
  | { readonly kind: "hang" }
  /** Closes the connection before any answer. */
  | { readonly kind: "reset" }
  /** Closes the connection in the middle of the answer. */
  | { readonly kind: "halfBody" }
  /** Half the text, properly ended: what a broken cache between would answer. */
  | { readonly kind: "halfJson" }
  /** A page of HTML with status 200. */
  | { readonly kind: "html" }
  /** `THROTTLED`, saying that `available` points are left; one short of the price if not said. */
  | { readonly kind: "throttled"; readonly available?: number }
  /** `INTERNAL_SERVER_ERROR` with status 200. */
  | { readonly kind: "internalError" }
  /** Answers as another API version. */
  | { readonly kind: "fallForward"; readonly version: string }
  /** The token of this request is no longer good: 401 until another is got. */
  | { readonly kind: "tokenExpired" }
  /** Edits the product before answering; only operations named `…Page` unless said otherwise. */
  | { readonly kind: "changeBetweenPages" }
  | { readonly kind: "slow"; readonly latencyMs: number }
  /** The next bulk run ends FAILED, with `part` (0 to 1) of its products in the partial file. */
  | { readonly kind: "bulkFailed"; readonly errorCode?: RunErrorCode; readonly part?: number }
  /** The next bulk run stays RUNNING. */
  | { readonly kind: "bulkStuck" };

export type Fault = FaultTrigger & FaultEffect;
export type FaultKind = FaultEffect["kind"];

/** In the order they are listed for people; the type makes sure that none is forgotten. */
const kinds: Readonly<Record<FaultKind, true>> = {
  status: true,
  hang: true,
  reset: true,
  halfBody: true,
  halfJson: true,
  html: true,
  throttled: true,
  internalError: true,
  fallForward: true,
  tokenExpired: true,
  changeBetweenPages: true,
  slow: true,
  bulkFailed: true,
  bulkStuck: true,
};

export const faultKinds = Object.keys(kinds) as readonly FaultKind[];
const ofBulkRuns: readonly FaultKind[] = ["bulkFailed", "bulkStuck"];

interface Armed {
  readonly fault: Fault;
  readonly pattern: RegExp;
  seen: number;
  left: number;
}

/** The faults that wait for requests. Chances come from a seed, so that the same requests meet the same faults. */
export class Faults {
  readonly #chance: () => number;
  readonly #onStrike: (kind: FaultKind) => void;
  #armed: Armed[] = [];

  constructor(seed: number, onStrike: (kind: FaultKind) => void) {
    this.#chance = createChance(seed);
    this.#onStrike = onStrike;
  }

  get waiting(): readonly Fault[] {
    return this.#armed.map(({ fault, left }) => (Number.isFinite(left) ? { ...fault, count: left } : fault));
  }

  add(fault: Fault): void {
    const operation = fault.operation ?? (fault.kind === "changeBetweenPages" ? "*Page" : "*");
    const pattern = new RegExp(`^${operation.replace(/[^\w*]/g, "").replaceAll("*", ".*")}$`);
    const left = fault.count ?? (fault.probability === undefined ? 1 : Number.POSITIVE_INFINITY);
    this.#armed.push({ fault, pattern, seen: 0, left });
  }

  clear(): void {
    this.#armed = [];
  }

  /** What strikes a request: any slowness, and the first other fault that does. */
  draw(operation: string): readonly FaultEffect[] {
    return this.#draw(operation, ({ kind }) => !ofBulkRuns.includes(kind));
  }

  /** What strikes the bulk run that a request starts. */
  drawForBulkRun(operation: string): FaultEffect | undefined {
    return this.#draw(operation, ({ kind }) => ofBulkRuns.includes(kind))[0];
  }

  #draw(operation: string, isWanted: (fault: Fault) => boolean): FaultEffect[] {
    const struck: Fault[] = [];
    for (const armed of this.#armed) {
      if (!isWanted(armed.fault) || !armed.pattern.test(operation)) continue;
      const isFree = armed.fault.kind === "slow" || struck.every(({ kind }) => kind === "slow");
      if (isFree && this.#strikes(armed)) struck.push(armed.fault);
    }
    this.#armed = this.#armed.filter(({ left }) => left > 0);
    for (const { kind } of struck) this.#onStrike(kind);
    return struck;
  }

  #strikes(armed: Armed): boolean {
    armed.seen += 1;
    if (armed.seen <= (armed.fault.skip ?? 0)) return false;
    if (armed.fault.probability !== undefined && this.#chance() >= armed.fault.probability) return false;
    armed.left -= 1;
    return true;
  }
}
