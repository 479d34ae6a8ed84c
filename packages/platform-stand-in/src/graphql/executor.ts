import { execute, GraphQLError, type GraphQLSchema } from "graphql";
import { SearchNotSupported } from "../catalog/search.ts";
import { increase } from "../counters.ts";
import { InvalidCursor } from "../paging.ts";
import type { Bucket, ThrottleStatus } from "../throttle.ts";
import type { RequestContext } from "./context.ts";
import { findBadPageSize, priceActual, priceRequested, singleQueryLimit, type Variables } from "./cost.ts";
import { type CheckedDocument, checkDocument, type Operation } from "./documents.ts";
import { badArgument, type ErrorEntry, maxCostExceeded, throttled } from "./errors.ts";
import { coerceVariables } from "./variables.ts";

export interface GraphqlResponse {
  readonly data?: unknown;
  readonly errors?: readonly ErrorEntry[];
  readonly extensions?: { readonly cost: Cost };
}

interface Cost {
  readonly requestedQueryCost: number;
  readonly actualQueryCost: number | null;
  readonly throttleStatus: ThrottleStatus;
}

export interface ExecutionRequest {
  readonly operation: Operation;
  readonly variables: Variables;
  readonly bucket: Bucket;
  readonly context: RequestContext;
  /** Throttles regardless of the bucket; the response reports `available` points, if given. */
  readonly throttle?: { readonly available: number | undefined } | undefined;
}

export type Prepared = { readonly operation: Operation } | { readonly errors: readonly ErrorEntry[] };

/** Clients send the same few documents repeatedly; no client has this many. */
const maxDocuments = 500;

/**
 * Executes operations as the platform does: checks them, charges their cost, runs them, and refunds
 * the rest.
 */
export class Executor {
  readonly #schema: GraphQLSchema;
  readonly #documents = new Map<string, CheckedDocument>();

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** The schema changed. */
  forgetDocuments(): void {
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
    const checked = checkDocument(this.#schema, text);
    this.#documents.set(text, checked);
    return checked;
  }

  async run({ operation, variables, bucket, context, throttle }: ExecutionRequest): Promise<GraphqlResponse> {
    const coerced = coerceVariables(this.#schema, operation.node, variables);
    if ("errors" in coerced) return { errors: coerced.errors };
    const badSize = findBadPageSize(operation.plan.fields, coerced.variables);
    if (badSize !== undefined) return { errors: [badSize] };

    const requested = priceRequested(operation.plan, coerced.variables);
    if (requested > singleQueryLimit) {
      return {
        errors: [maxCostExceeded(requested, singleQueryLimit)],
        extensions: costs(requested, null, bucket.status),
      };
    }
    if (throttle !== undefined || !bucket.take(requested)) {
      context.counters.throttled += 1;
      const { status } = bucket;
      const currentlyAvailable =
        throttle === undefined ? status.currentlyAvailable : (throttle.available ?? requested - 1);
      return { errors: [throttled()], extensions: costs(requested, null, { ...status, currentlyAvailable }) };
    }

    const name = operation.name || "anonymous";
    const { lowest, points } = context.counters;
    lowest.set(name, Math.min(bucket.status.currentlyAvailable, lowest.get(name) ?? Number.POSITIVE_INFINITY));

    const { data, errors } = await execute({
      schema: this.#schema,
      document: operation.document,
      operationName: operation.name === "" ? null : operation.name,
      variableValues: variables,
      contextValue: context,
    });
    const actual = Math.min(requested, priceActual(operation.plan, data));
    bucket.refund(requested - actual);
    increase(points, name, actual);
    const entries = errors === undefined ? {} : { errors: errors.map(toEntry) };
    return { data, ...entries, extensions: costs(requested, actual, bucket.status) };
  }
}

function reject(message: string): Prepared {
  return { errors: [{ message, extensions: { code: "missingOperation" } }] };
}

function costs(
  requestedQueryCost: number,
  actualQueryCost: number | null,
  throttleStatus: ThrottleStatus,
): { cost: Cost } {
  return { cost: { requestedQueryCost, actualQueryCost, throttleStatus } };
}

function toEntry(error: GraphQLError): ErrorEntry {
  const { originalError: cause, path, locations } = error;
  const place = { ...(locations && { locations }), ...(path && { path }) };
  if (cause instanceof InvalidCursor) return { ...badArgument(cause.message).toJSON(), ...place };
  if (cause instanceof SearchNotSupported) {
    return { ...badArgument(`The stand-in ${cause.message}`, "STAND_IN_LIMIT").toJSON(), ...place };
  }
  // Any other error is a bug of the stand-in: print it, so that no test relies on it.
  if (cause !== undefined && !(cause instanceof GraphQLError)) process.stderr.write(`${Bun.inspect(cause)}\n`);
  return error.toJSON();
}
