import { type GraphQLSchema, getNullableType, isListType, type OperationDefinitionNode } from "graphql";
import { findNodes } from "../graphql/price-plan.ts";
import { compositeOf, isConnection, type SelectedField, selectFields } from "../graphql/selection.ts";

const maxConnections = 5;
const maxDepth = 2;

/** A query that the platform rejects for bulk runs; the message is the platform's. */
export class InvalidBulkQuery extends Error {
  override name = "InvalidBulkQuery";
}

/** Rejects queries that a bulk run does not allow. Fragments must be inlined already. */
export function checkRules(schema: GraphQLSchema, operations: readonly OperationDefinitionNode[]): void {
  const [operation] = operations;
  if (operations.length !== 1 || operation?.operation !== "query")
    reject("Bulk queries must contain exactly one query.");
  if ((operation.variableDefinitions ?? []).length > 0) reject("Bulk queries cannot use variables.");
  const root = schema.getQueryType();
  const fields = root == null ? [] : selectFields(schema, operation.selectionSet, root);
  const connections = fields.reduce((count, field) => count + checkField(schema, field, 0, false), 0);
  if (connections === 0) reject("Bulk queries must contain at least one connection.");
  if (connections > maxConnections) reject(`Bulk queries cannot contain more than ${maxConnections} connections.`);
}

/** Checks a field and everything inside it. @returns the number of connections */
function checkField(schema: GraphQLSchema, field: SelectedField, depth: number, inList: boolean): number {
  const type = compositeOf(field);
  if (type === undefined) return 0;
  if (isConnection(type)) return checkConnection(schema, field, depth, inList);
  const isList = field.type !== undefined && isListType(getNullableType(field.type));
  const fields = selectFields(schema, field.node.selectionSet, type);
  return fields.reduce((count, inner) => count + checkField(schema, inner, depth, inList || isList), 0);
}

function checkConnection(schema: GraphQLSchema, field: SelectedField, depth: number, inList: boolean): number {
  if (inList) reject("Queries that contain a connection field within a list field are not currently supported.");
  if (depth > maxDepth) reject(`Bulk queries cannot nest connections deeper than ${maxDepth} levels.`);
  const type = compositeOf(field);
  const { nodes, node } = type === undefined ? {} : findNodes(schema, field, type);
  if (nodes) reject(`Bulk queries cannot select \`nodes\` of ${field.name}: use \`edges\` and \`node\`.`);
  const nodeType = compositeOf(node);
  if (node === undefined || nodeType === undefined)
    return reject(`The connection ${field.name} must select edges and node.`);
  const fields = selectFields(schema, node.node.selectionSet, nodeType);
  const inside = fields.reduce((count, inner) => count + checkField(schema, inner, depth + 1, false), 0);
  const selectsId = fields.some(({ name, key }) => name === "id" && key === "id");
  if (inside > 0 && !selectsId) {
    reject(`The parent 'node' of a nested connection must select the 'id' field without an alias: ${field.name}.`);
  }
  return inside + 1;
}

function reject(message: string): never {
  throw new InvalidBulkQuery(message);
}
