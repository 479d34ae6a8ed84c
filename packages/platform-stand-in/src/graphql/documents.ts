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

export interface CheckedDocument {
  readonly operations: ReadonlyMap<string, Operation>;
  readonly errors: readonly ErrorEntry[];
}

/** Parses, validates, and plans a document. */
export function checkDocument(schema: GraphQLSchema, text: string): CheckedDocument {
  let document: DocumentNode;
  try {
    document = parse(text);
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    return { operations: new Map(), errors: [toValidationError(error)] };
  }
  const errors = validate(schema, document).map(toValidationError);
  if (errors.length > 0) return { operations: new Map(), errors };
  const operations = inlineFragments(document).map((node): Operation => {
    return { name: node.name?.value ?? "", document, node, plan: createPricePlan(schema, node) };
  });
  return { operations: new Map(operations.map((operation) => [operation.name, operation])), errors };
}
