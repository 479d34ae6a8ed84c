import type { Log } from "../../base/log.ts";
import type { KeptFields } from "../platform.ts";
import {
  type FieldError,
  findRefusedField,
  isOptional,
  type OptionalField,
  optionalFields,
} from "./optional-fields.ts";
import { createDocuments } from "./queries.ts";

/** Refused fields are requested again after this time, because a scope may have been granted. */
const refusedMs = 3_600_000;

export type DocumentSet = ReturnType<typeof createDocuments> & {
  /** Fields of the contract that the documents do not read. */
  readonly kept: readonly KeptFields[];
  /** The namespaces of the metafields to keep; empty for all. */
  readonly namespaces: readonly string[];
  readonly publication: string;
};

export interface ProductChoice {
  /** The publication whose products are visible; the online store by default. */
  readonly publication?: string;
  /** The namespaces of metafields; all by default. */
  readonly namespaces?: readonly string[];
}

/** The documents of a client, without the optional fields that Shopify refuses. */
export class Documents {
  readonly #log: Log;
  readonly #nowMs: () => number;
  /** When each refused field is requested again. */
  readonly #refused = new Map<OptionalField, number>();
  readonly #choice: ProductChoice;
  #current: DocumentSet;

  constructor(log: Log, choice: ProductChoice = {}, nowMs: () => number = () => performance.now()) {
    this.#log = log;
    this.#nowMs = nowMs;
    this.#choice = choice;
    this.#current = this.#create();
  }

  get current(): DocumentSet {
    const nowMs = this.#nowMs();
    const expired = [...this.#refused].filter(([, untilMs]) => untilMs <= nowMs);
    for (const [field] of expired) this.#refused.delete(field);
    if (expired.length > 0) this.#current = this.#create();
    return this.#current;
  }

  /**
   * @param sent the documents of the request
   * @returns whether fewer fields are now selected, so that the request may succeed
   */
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
    const refused = new Set(this.#refused.keys());
    const kept = [...refused].map((field) => optionalFields[field]);
    const { publication = "", namespaces = [] } = this.#choice;
    return { ...createDocuments({ publication, namespaces, refused }), kept, publication, namespaces };
  }
}
