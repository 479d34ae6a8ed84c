import { toTimestamp } from "../catalog/times.ts";

export type RunStatus = "CANCELED" | "CANCELING" | "COMPLETED" | "CREATED" | "EXPIRED" | "FAILED" | "RUNNING";
export type RunErrorCode = "ACCESS_DENIED" | "INTERNAL_SERVER_ERROR" | "TIMEOUT";

/** Minimum duration of each state in milliseconds; writing the file can make RUNNING longer. */
export interface RunTiming {
  readonly createdMs: number;
  readonly runningMs: number;
  readonly cancelingMs: number;
}

export interface FileProgress {
  objects: number;
  bytes: number;
}

export interface RunOptions {
  readonly number: number;
  readonly appName: string;
  readonly fileUrl: string;
  readonly path: string;
  readonly timing: RunTiming;
  /** Undefined for a run that does not fail. */
  readonly errorCode: RunErrorCode | undefined;
  /** Stays RUNNING forever. */
  readonly isStuck: boolean;
  readonly now: () => number;
}

/** A bulk operation. Its properties are the schema's fields, computed from the clock when read. */
export class BulkRun {
  readonly __typename = "BulkOperation";
  readonly id: string;
  readonly appName: string;
  readonly path: string;
  readonly progress: FileProgress = { objects: 0, bytes: 0 };
  readonly #options: RunOptions;
  readonly #startedAt: number;
  readonly #abort = new AbortController();
  #writtenAt: number | undefined;
  #cancelAskedAt: number | undefined;
  #isExpired = false;

  constructor(options: RunOptions) {
    this.id = `gid://shopify/BulkOperation/${options.number}`;
    this.appName = options.appName;
    this.path = options.path;
    this.#options = options;
    this.#startedAt = options.now();
  }

  /** Aborted when the file is no longer needed. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get status(): RunStatus {
    const { timing, errorCode, isStuck, now } = this.#options;
    if (this.#isExpired) return "EXPIRED";
    if (this.#cancelAskedAt !== undefined) {
      return now() < this.#cancelAskedAt + timing.cancelingMs ? "CANCELING" : "CANCELED";
    }
    if (now() < this.#startedAt + timing.createdMs) return "CREATED";
    if (isStuck || now() < this.#endsAt) return "RUNNING";
    return errorCode === undefined ? "COMPLETED" : "FAILED";
  }

  get isActive(): boolean {
    return ["CREATED", "RUNNING", "CANCELING"].includes(this.status);
  }

  get errorCode(): RunErrorCode | null {
    return this.status === "FAILED" ? (this.#options.errorCode ?? null) : null;
  }

  get completedAt(): string | null {
    return this.status === "COMPLETED" ? toTimestamp(Math.floor(this.#endsAt / 1000)) : null;
  }

  get objectCount(): string {
    return String(this.status === "CREATED" ? 0 : this.progress.objects);
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
