import type { Log } from "../../base/log.ts";
import { type FieldError, findRefusedField, isOptional, type OptionalField } from "./optional-fields.ts";
import { createDocuments, type DocumentOptions, type DocumentSet } from "./queries.ts";

/** Refused fields are requested again after this time, because a scope may have been granted. */
const refusedMs = 3_600_000;

/** The documents of a client, without the optional fields that Shopify refuses. */
export class Documents {
  readonly #log: Log;
  readonly #nowMs: () => number;
  /** When each refused field is requested again. */
  readonly #refused = new Map<OptionalField, number>();
  readonly #options: DocumentOptions;
  #current: DocumentSet;

  constructor(log: Log, options: Omit<DocumentOptions, "refused"> = {}, nowMs: () => number = () => performance.now()) {
    this.#log = log;
    this.#nowMs = nowMs;
    this.#options = options;
    this.#current = this.#create();
  }

  get current(): DocumentSet {
    const nowMs = this.#nowMs();
    const expired = [...this.#refused].filter(([, untilMs]) => untilMs <= nowMs);
    for (const [field] of expired) this.#refused.delete(field);
    if (expired.length > 0) this.#current = this.#create();
    return this.#current;
  }

  /** @returns whether fewer fields are now selected than were sent, so that the request may succeed */
  leaveOut(errors: readonly FieldError[], sent?: DocumentSet): boolean {
    const refused = new Set(errors.map(findRefusedField).filter((field) => field !== undefined));
    const left = [...refused].filter(isOptional).filter((field) => !this.#refused.has(field));
    // A concurrent request may have been refused the same fields before.
    if (left.length === 0) return refused.size > 0 && sent !== this.#current;
    for (const field of left) this.#refused.set(field, this.#nowMs() + refusedMs);
    this.#log.warn({ fields: left }, "Shopify refuses optional fields, whose last stored values are kept");
    this.#current = this.#create();
    return true;
  }

  #create(): DocumentSet {
    return createDocuments({ ...this.#options, refused: new Set(this.#refused.keys()) });
  }
}
