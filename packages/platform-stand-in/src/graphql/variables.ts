import {
  type GraphQLSchema,
  getNamedType,
  getVariableValues,
  type OperationDefinitionNode,
  print,
  type TypeNode,
  typeFromAST,
} from "graphql";
import type { Variables } from "./cost.ts";
import { type ErrorEntry, invalidVariable } from "./errors.ts";

export type CoercedVariables = { readonly variables: Variables } | { readonly errors: readonly ErrorEntry[] };

const globalId = /^gid:\/\/shopify\/[A-Za-z]+\/\d+$/;

/** Variables with their defaults, or the platform's errors for those missing or malformed. */
export function coerceVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  given: Variables,
): CoercedVariables {
  const definitions = operation.variableDefinitions ?? [];
  const errors = definitions.flatMap((definition) => {
    const name = definition.variable.name.value;
    const problem = explain(schema, operation, name, given) ?? explainId(schema, definition.type, given[name]);
    return problem === undefined ? [] : [invalidVariable(name, print(definition.type), given[name] ?? null, problem)];
  });
  if (errors.length > 0) return { errors };
  const coerced = getVariableValues(schema, definitions, given);
  // Each variable was coerced above, so this cannot fail.
  return coerced.variableValues === undefined ? { errors: [] } : { variables: { ...coerced.variableValues.coerced } };
}

function explain(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  name: string,
  given: Variables,
): string | undefined {
  const definition = operation.variableDefinitions?.find(({ variable }) => variable.name.value === name);
  if (definition === undefined) return undefined;
  const { errors } = getVariableValues(schema, [definition], given);
  if (errors === undefined) return undefined;
  if (given[name] === undefined || given[name] === null) return "Expected value to not be null";
  return errors[0]?.message;
}

/** The platform checks the format of ids before looking anything up. */
function explainId(schema: GraphQLSchema, node: TypeNode, value: unknown): string | undefined {
  const type = typeFromAST(schema, node);
  if (type === undefined || getNamedType(type).name !== "ID" || value == null) return undefined;
  const wrong = [value].flat().find((id) => typeof id !== "string" || !globalId.test(id));
  return wrong === undefined ? undefined : `Invalid global id '${wrong}'`;
}
