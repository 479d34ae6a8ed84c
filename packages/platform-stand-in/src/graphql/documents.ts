import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  parse,
  validate,
} from "graphql";
import { type ErrorEntry, toValidationError } from "./errors.ts";
import { createPricePlan, type PricePlan } from "./price-plan.ts";
import { inlineFragments } from "./selection.ts";

export interface Operation {
  readonly name: string;
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  readonly plan: PricePlan;
}

export type Prepared = { readonly operation: Operation } | { readonly errors: readonly ErrorEntry[] };

interface CheckedDocument {
  readonly operations: ReadonlyMap<string, Operation>;
  readonly errors: readonly ErrorEntry[];
}

/** Clients send the same few documents repeatedly; no client has this many. */
const maxDocuments = 500;

/** Turns documents into operations. Each document is parsed, validated, and planned once. */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #documents = new Map<string, CheckedDocument>();

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** The schema changed. */
  forget(): void {
    this.#documents.clear();
  }

  prepare(text: string, operationName: string | undefined): Prepared {
    const { operations, errors } = this.#check(text);
    if (errors.length > 0) return { errors };
    if (operationName === undefined && operations.size > 1) return reject("An operation name is required");
    const operation = operations.get(operationName ?? operations.keys().next().value ?? "");
    return operation === undefined ? reject(`No operation named "${operationName}"`) : { operation };
  }

  #check(text: string): CheckedDocument {
    const known = this.#documents.get(text);
    if (known !== undefined) return known;
    if (this.#documents.size >= maxDocuments) this.#documents.clear();
    const checked = this.#read(text);
    this.#documents.set(text, checked);
    return checked;
  }

  #read(text: string): CheckedDocument {
    let document: DocumentNode;
    try {
      document = parse(text);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      return { operations: new Map(), errors: [toValidationError(error)] };
    }
    const errors = validate(this.#schema, document).map(toValidationError);
    return { operations: errors.length > 0 ? new Map() : this.#plan(document), errors };
  }

  #plan(document: DocumentNode): Map<string, Operation> {
    const operations = inlineFragments(document).map((node): Operation => {
      return { name: node.name?.value ?? "", document, node, plan: createPricePlan(this.#schema, node) };
    });
    return new Map(operations.map((operation) => [operation.name, operation]));
  }
}

function reject(message: string): Prepared {
  return { errors: [{ message, extensions: { code: "missingOperation" } }] };
}
