import type { RunErrorCode } from "./bulk/run.ts";
import { createRandom } from "./catalog/random.ts";
import { isObject } from "./json.ts";

/** When a fault is triggered: once, unless `probability` or `count` is given. */
export interface FaultTrigger {
  /**
   * Operation name, where `*` matches anything; also `AccessToken` and `BulkDownload`. Default:
   * every request.
   */
  readonly operation?: string;
  /** From 0 to 1. */
  readonly probability?: number;
  /** Maximum number of times. */
  readonly count?: number;
  /** Matching requests to skip first. */
  readonly skip?: number;
}

export type FaultEffect =
  /**
   * 402, 403, 423, 429, 430, 500, 502, 503, 504; `retryAfter` as on the wire, "2.0" by default for
   * 429.
   */
  | { readonly kind: "status"; readonly status: number; readonly retryAfter?: string }
  /** Never responds. */
  | { readonly kind: "hang" }
  /** Closes the connection before the response. */
  | { readonly kind: "reset" }
  /** Closes the connection in the middle of the response. */
  | { readonly kind: "halfBody" }
  /** A complete response with half of the JSON, as a broken proxy might send. */
  | { readonly kind: "halfJson" }
  /** An HTML page with status 200. */
  | { readonly kind: "html" }
  /** `THROTTLED`, reporting `available` points left; by default one less than the cost. */
  | { readonly kind: "throttled"; readonly available?: number }
  /** `INTERNAL_SERVER_ERROR` with status 200. */
  | { readonly kind: "internalError" }
  /** Reports another API version. */
  | { readonly kind: "fallForward"; readonly version: string }
  /** The token of this request expires: 401 until the client gets a new one. */
  | { readonly kind: "tokenExpired" }
  /** Edits the product before responding; by default only for operations named `…Page`. */
  | { readonly kind: "changeBetweenPages" }
  | { readonly kind: "slow"; readonly latencyMs: number }
  /**
   * The next bulk run ends as FAILED, with the share `part` (0 to 1) of its products in the partial
   * file.
   */
  | { readonly kind: "bulkFailed"; readonly errorCode?: RunErrorCode; readonly part?: number }
  /** The next bulk run stays RUNNING. */
  | { readonly kind: "bulkStuck" }
  /** The file of the next bulk run has some lines twice. */
  | { readonly kind: "bulkRepeated" };

export type Fault = FaultTrigger & FaultEffect;
export type FaultKind = FaultEffect["kind"];

/** The required property of each kind, if any, and its type; in the order of the help text. */
const kinds: Readonly<Record<FaultKind, readonly [name: string, type: "number" | "string"] | undefined>> = {
  status: ["status", "number"],
  hang: undefined,
  reset: undefined,
  halfBody: undefined,
  halfJson: undefined,
  html: undefined,
  throttled: undefined,
  internalError: undefined,
  fallForward: ["version", "string"],
  tokenExpired: undefined,
  changeBetweenPages: undefined,
  slow: ["latencyMs", "number"],
  bulkFailed: undefined,
  bulkStuck: undefined,
  bulkRepeated: undefined,
};

export const faultKinds = Object.keys(kinds) as readonly FaultKind[];
const ofBulkRuns: readonly FaultKind[] = ["bulkFailed", "bulkStuck", "bulkRepeated"];

/** @throws Error with the reason if the value is not a valid fault */
export function parseFault(value: unknown): Fault {
  if (!isObject(value)) throw new Error("a fault must be an object");
  const kind = faultKinds.find((known) => known === value.kind);
  if (kind === undefined) throw new Error(`the "kind" of a fault must be one of ${faultKinds.join(", ")}`);
  const [name, type] = kinds[kind] ?? [];
  if (name !== undefined && typeof value[name] !== type) {
    throw new Error(`a fault of kind "${kind}" needs "${name}", a ${type}`);
  }
  // The kind and its required property are checked; everything else is optional.
  return value as unknown as Fault;
}

interface PendingFault {
  readonly fault: Fault;
  readonly pattern: RegExp;
  seen: number;
  left: number;
}

/**
 * Faults waiting for a matching request. Probabilities are seeded, so the same requests get the
 * same faults.
 */
export class Faults {
  readonly #random: () => number;
  readonly #onTrigger: (kind: FaultKind) => void;
  #pending: PendingFault[] = [];

  constructor(seed: number, onTrigger: (kind: FaultKind) => void) {
    this.#random = createRandom(seed);
    this.#onTrigger = onTrigger;
  }

  get pending(): readonly Fault[] {
    return this.#pending.map(({ fault, left }) => (Number.isFinite(left) ? { ...fault, count: left } : fault));
  }

  add(fault: Fault): void {
    const operation = fault.operation ?? (fault.kind === "changeBetweenPages" ? "*Page" : "*");
    const pattern = new RegExp(`^${operation.replace(/[^\w*]/g, "").replaceAll("*", ".*")}$`);
    const left = fault.count ?? (fault.probability === undefined ? 1 : Number.POSITIVE_INFINITY);
    this.#pending.push({ fault, pattern, seen: 0, left });
  }

  clear(): void {
    this.#pending = [];
  }

  /** Faults for a request: every `slow` fault that applies, and the first other one. */
  trigger(operation: string): readonly FaultEffect[] {
    return this.#trigger(operation, ({ kind }) => !ofBulkRuns.includes(kind));
  }

  /** Fault for the bulk run that a request starts. */
  triggerForBulkRun(operation: string): FaultEffect | undefined {
    return this.#trigger(operation, ({ kind }) => ofBulkRuns.includes(kind))[0];
  }

  #trigger(operation: string, isWanted: (fault: Fault) => boolean): FaultEffect[] {
    const triggered: Fault[] = [];
    for (const pending of this.#pending) {
      if (!isWanted(pending.fault) || !pending.pattern.test(operation)) continue;
      const isFree = pending.fault.kind === "slow" || triggered.every(({ kind }) => kind === "slow");
      if (isFree && this.#applies(pending)) triggered.push(pending.fault);
    }
    this.#pending = this.#pending.filter(({ left }) => left > 0);
    for (const { kind } of triggered) this.#onTrigger(kind);
    return triggered;
  }

  #applies(pending: PendingFault): boolean {
    pending.seen += 1;
    if (pending.seen <= (pending.fault.skip ?? 0)) return false;
    if (pending.fault.probability !== undefined && this.#random() >= pending.fault.probability) return false;
    pending.left -= 1;
    return true;
  }
}
