import { GraphQLError } from "graphql";

export interface ErrorEntry {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

const rateLimits = "https://shopify.dev/api/usage/limits";

export function accessDenied(field: string, scope: string): GraphQLError {
  const required = `\`${scope}\` access scope.`;
  return new GraphQLError(`Access denied for ${field} field. Required access: ${required}`, {
    extensions: {
      code: "ACCESS_DENIED",
      documentation: "https://shopify.dev/api/usage/access-scopes",
      requiredAccess: required,
    },
  });
}

export function throttled(): ErrorEntry {
  return { message: "Throttled", extensions: { code: "THROTTLED", documentation: rateLimits } };
}

export function maxCostExceeded(cost: number, maxCost: number): ErrorEntry {
  return {
    message: `Query cost is ${cost}, which exceeds the single query max cost limit (${maxCost}).`,
    extensions: { code: "MAX_COST_EXCEEDED", cost, maxCost, documentation: rateLimits },
  };
}

export function internalError(requestId: string): ErrorEntry {
  return {
    message:
      "Internal error. Looks like something went wrong on our end.\n" +
      `Request ID: ${requestId} (include this in support requests).`,
    extensions: { code: "INTERNAL_SERVER_ERROR", requestId },
  };
}

export function invalidVariable(name: string, type: string, value: unknown, explanation: string): ErrorEntry {
  return {
    message: `Variable $${name} of type ${type} was provided invalid value`,
    extensions: { code: "INVALID_VARIABLE", value, problems: [{ path: [], explanation }] },
  };
}

/** For valid documents with unusable arguments: a value out of range, a cursor of another list. */
export function badArgument(message: string, code = "BAD_USER_INPUT"): GraphQLError {
  return new GraphQLError(message, { extensions: { code } });
}

/**
 * Uses the platform's codes for invalid documents; except for an unknown field, the message is that
 * of graphql-js.
 */
export function toValidationError(error: GraphQLError): ErrorEntry {
  const [, fieldName, typeName] = /^Cannot query field "(\w+)" on type "(\w+)"/.exec(error.message) ?? [];
  if (fieldName !== undefined) {
    const message = `Field '${fieldName}' doesn't exist on type '${typeName}'`;
    return { message, locations: error.locations ?? [], extensions: { code: "undefinedField", typeName, fieldName } };
  }
  return { message: error.message, locations: error.locations ?? [], extensions: { code: codeOf(error.message) } };
}

function codeOf(message: string): string {
  if (message.startsWith("Unknown argument")) return "argumentNotAccepted";
  if (message.startsWith("Unknown type")) return "undefinedType";
  if (message.startsWith("Syntax Error")) return "parseError";
  if (/^Fragment .* is never used/.test(message)) return "useAndDefineFragment";
  if (/^Variable .* is never used/.test(message)) return "variableNotUsed";
  if (/must have a selection of subfields/.test(message)) return "selectionMismatch";
  if (/must not have a selection/.test(message)) return "selectionMismatch";
  if (/is required, but it was not provided/.test(message)) return "missingRequiredArguments";
  return "argumentLiteralsIncompatible";
}
