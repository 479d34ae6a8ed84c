import { toTimestamp } from "../catalog/times.ts";

export type RunStatus = "CANCELED" | "CANCELING" | "COMPLETED" | "CREATED" | "EXPIRED" | "FAILED" | "RUNNING";
export type RunErrorCode = "ACCESS_DENIED" | "INTERNAL_SERVER_ERROR" | "TIMEOUT";

/** How a run fails. */
export interface RunFailure {
  readonly errorCode: RunErrorCode;
}

/** Minimum duration of each state in milliseconds; writing the file can make RUNNING longer. */
export interface RunTiming {
  readonly createdMs: number;
  readonly runningMs: number;
  readonly cancelingMs: number;
}

export interface FileProgress {
  objects: number;
  rootObjects: number;
  bytes: number;
}

export interface RunOptions {
  readonly number: number;
  readonly appName: string;
  readonly query: string;
  readonly fileUrl: string;
  readonly path: string;
  readonly timing: RunTiming;
  readonly failure: RunFailure | undefined;
  /** Stays RUNNING forever. */
  readonly isStuck: boolean;
  readonly now: () => number;
}

/** A bulk operation. Its properties are the schema's fields, computed from the clock when read. */
export class BulkRun {
  readonly __typename = "BulkOperation";
  readonly type = "QUERY";
  readonly progress: FileProgress = { objects: 0, rootObjects: 0, bytes: 0 };
  readonly #options: RunOptions;
  readonly #startedAt: number;
  readonly #abort = new AbortController();
  #writtenAt: number | undefined;
  #cancelAskedAt: number | undefined;
  #isExpired = false;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  get id(): string {
    return `gid://shopify/BulkOperation/${this.#options.number}`;
  }

  get appName(): string {
    return this.#options.appName;
  }

  get path(): string {
    return this.#options.path;
  }

  get query(): string {
    return this.#options.query;
  }

  /** Aborted when the file is no longer needed. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get status(): RunStatus {
    const { timing, failure, isStuck, now } = this.#options;
    if (this.#isExpired) return "EXPIRED";
    if (this.#cancelAskedAt !== undefined) {
      return now() < this.#cancelAskedAt + timing.cancelingMs ? "CANCELING" : "CANCELED";
    }
    if (now() < this.#startedAt + timing.createdMs) return "CREATED";
    if (isStuck || now() < this.#endsAt) return "RUNNING";
    return failure === undefined ? "COMPLETED" : "FAILED";
  }

  get isActive(): boolean {
    return ["CREATED", "RUNNING", "CANCELING"].includes(this.status);
  }

  get errorCode(): RunErrorCode | null {
    return this.status === "FAILED" ? (this.#options.failure?.errorCode ?? null) : null;
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

  /** Also null for an empty result: the platform creates no empty files. */
  get url(): string | null {
    return this.status === "COMPLETED" && this.progress.objects > 0 ? this.#options.fileUrl : null;
  }

  get partialDataUrl(): string | null {
    return this.status === "FAILED" && this.progress.objects > 0 ? this.#options.fileUrl : null;
  }

  finishFile(): void {
    this.#writtenAt = this.#options.now();
  }

  /** @returns false if the run has already ended */
  cancel(): boolean {
    if (!this.isActive) return false;
    this.#cancelAskedAt ??= this.#options.now();
    this.#abort.abort();
    return true;
  }

  expire(): void {
    this.#isExpired = true;
    this.#abort.abort();
  }

  get #endsAt(): number {
    const { timing } = this.#options;
    const soonest = this.#startedAt + timing.createdMs + timing.runningMs;
    return Math.max(soonest, this.#writtenAt ?? Number.POSITIVE_INFINITY);
  }
}
