import { toTimestamp } from "../catalog/times.ts";
import type { FileProgress } from "./file.ts";

export type RunStatus = "CANCELED" | "CANCELING" | "COMPLETED" | "CREATED" | "EXPIRED" | "FAILED" | "RUNNING";
export type RunErrorCode = "ACCESS_DENIED" | "INTERNAL_SERVER_ERROR" | "TIMEOUT";

/** How a run shall end, other than well. */
export interface RunTrouble {
  readonly errorCode: RunErrorCode;
}

/** Milliseconds each state lasts at least; writing the file may make RUNNING longer. */
export interface RunTiming {
  readonly createdMs: number;
  readonly runningMs: number;
  readonly cancelingMs: number;
}

export interface RunFacts {
  readonly number: number;
  readonly appName: string;
  readonly query: string;
  readonly fileUrl: string;
  readonly path: string;
  readonly timing: RunTiming;
  readonly trouble: RunTrouble | undefined;
  /** Never gets past RUNNING. */
  readonly isStuck: boolean;
  readonly now: () => number;
}

/** One bulk operation; its properties are the schema's fields, worked out from the clock whenever they are read. */
export class BulkRun {
  readonly __typename = "BulkOperation";
  readonly type = "QUERY";
  readonly progress: FileProgress = { objects: 0, rootObjects: 0, bytes: 0 };
  readonly #facts: RunFacts;
  readonly #startedAt: number;
  readonly #abort = new AbortController();
  #writtenAt: number | undefined;
  #cancelAskedAt: number | undefined;
  #isExpired = false;

  constructor(facts: RunFacts) {
    this.#facts = facts;
    this.#startedAt = facts.now();
  }

  get id(): string {
    return `gid://shopify/BulkOperation/${this.#facts.number}`;
  }

  get appName(): string {
    return this.#facts.appName;
  }

  get path(): string {
    return this.#facts.path;
  }

  get query(): string {
    return this.#facts.query;
  }

  /** Aborted as soon as the file is no longer wanted. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get status(): RunStatus {
    const { timing, trouble, isStuck, now } = this.#facts;
    if (this.#isExpired) return "EXPIRED";
    if (this.#cancelAskedAt !== undefined) {
      return now() < this.#cancelAskedAt + timing.cancelingMs ? "CANCELING" : "CANCELED";
    }
    if (now() < this.#startedAt + timing.createdMs) return "CREATED";
    if (isStuck || now() < this.#endsAt) return "RUNNING";
    return trouble === undefined ? "COMPLETED" : "FAILED";
  }

  get isActive(): boolean {
    return ["CREATED", "RUNNING", "CANCELING"].includes(this.status);
  }

  get errorCode(): RunErrorCode | null {
    return this.status === "FAILED" ? (this.#facts.trouble?.errorCode ?? null) : null;
  }

  get createdAt(): string {
    return toTimestamp(Math.floor(this.#startedAt / 1000));
  }

  get completedAt(): string | null {
    return this.status === "COMPLETED" ? toTimestamp(Math.floor(this.#endsAt / 1000)) : null;
  }

  get objectCount(): string {
    return String(this.status === "CREATED" ? 0 : this.progress.objects);
  }

  get rootObjectCount(): string {
    return String(this.status === "CREATED" ? 0 : this.progress.rootObjects);
  }

  get fileSize(): string | null {
    return this.url === null ? null : String(this.progress.bytes);
  }

  /** Null also when nothing was found: the platform makes no empty files. */
  get url(): string | null {
    return this.status === "COMPLETED" && this.progress.objects > 0 ? this.#facts.fileUrl : null;
  }

  get partialDataUrl(): string | null {
    return this.status === "FAILED" && this.progress.objects > 0 ? this.#facts.fileUrl : null;
  }

  finishFile(): void {
    this.#writtenAt = this.#facts.now();
  }

  /** False if there is nothing left to cancel. */
  cancel(): boolean {
    if (!this.isActive) return false;
    this.#cancelAskedAt ??= this.#facts.now();
    this.#abort.abort();
    return true;
  }

  expire(): void {
    this.#isExpired = true;
    this.#abort.abort();
  }

  get #endsAt(): number {
    const { timing } = this.#facts;
    const soonest = this.#startedAt + timing.createdMs + timing.runningMs;
    return Math.max(soonest, this.#writtenAt ?? Number.POSITIVE_INFINITY);
  }
}
