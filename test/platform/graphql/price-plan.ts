import type {
  GraphQLCompositeType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from "graphql";
import { compositeOf, isConnection, type SelectedField, selectFields } from "./selection.ts";

/** Pairs of a value and its unit or name: the recorded costs fit when these count nothing (see README). */
const freeTypes = new Set(["PageInfo", "SelectedOption", "Weight"]);

/** One object or connection of a document; scalars cost nothing and are left out. */
export interface PricedField {
  readonly key: string;
  /** The object types it is selected on: of an interface's fragments only one type's can come true. */
  readonly on: readonly string[];
  readonly cost: 0 | 1;
  readonly connection: PricedConnection | undefined;
  /** Of a connection: what one node holds. */
  readonly children: readonly PricedField[];
}

export interface PricedConnection {
  readonly size: ValueNode | undefined;
  /** Under which keys the answer holds the nodes, if they are selected at all. */
  readonly nodes: string | undefined;
  readonly edges: { readonly key: string; readonly node: string } | undefined;
}

/** What pricing needs of an operation, worked out once a document. `@skip` and `@include` are priced as included. */
export interface PricePlan {
  readonly isMutation: boolean;
  readonly rootFields: number;
  readonly fields: readonly PricedField[];
}

/** The operation's fragments must have been put in. */
export function createPricePlan(schema: GraphQLSchema, operation: OperationDefinitionNode): PricePlan {
  const root = schema.getRootType(operation.operation);
  return {
    isMutation: operation.operation === "mutation",
    rootFields: operation.selectionSet.selections.length,
    fields: root == null ? [] : planFields(schema, operation.selectionSet, root),
  };
}

function planFields(
  schema: GraphQLSchema,
  set: SelectionSetNode | undefined,
  parent: GraphQLCompositeType,
): PricedField[] {
  const planned = new Map<string, PricedField>();
  for (const field of selectFields(schema, set, parent)) {
    const type = compositeOf(field);
    if (type === undefined || freeTypes.has(type.name)) continue;
    const next = isConnection(type) ? planConnection(schema, field, type) : planObject(schema, field, type);
    // The same key twice is one field in the answer: two fragments may each select a part of it.
    const id = `${field.key} ${field.on.join()}`;
    const earlier = planned.get(id);
    planned.set(id, earlier ? { ...earlier, children: [...earlier.children, ...next.children] } : next);
  }
  return [...planned.values()];
}

function planObject(schema: GraphQLSchema, { key, on, node }: SelectedField, type: GraphQLCompositeType): PricedField {
  return { key, on, cost: 1, connection: undefined, children: planFields(schema, node.selectionSet, type) };
}

function planConnection(schema: GraphQLSchema, field: SelectedField, type: GraphQLCompositeType): PricedField {
  const { nodes, edges, node } = findNodes(schema, field, type);
  const children = [nodes, node].flatMap((nodeField) => {
    const nodeType = compositeOf(nodeField);
    return nodeType === undefined ? [] : planFields(schema, nodeField?.node.selectionSet, nodeType);
  });
  const size = field.node.arguments?.find(({ name }) => name.value === "first" || name.value === "last")?.value;
  return {
    key: field.key,
    on: field.on,
    cost: nodes || node ? 1 : 0,
    connection: { size, nodes: nodes?.key, edges: edges && node && { key: edges.key, node: node.key } },
    children,
  };
}

interface NodeFields {
  readonly nodes: SelectedField | undefined;
  readonly edges: SelectedField | undefined;
  readonly node: SelectedField | undefined;
}

/** Where a selection on a connection takes its nodes from: `nodes`, or `edges` and in them `node`. */
export function findNodes(schema: GraphQLSchema, field: SelectedField, type: GraphQLCompositeType): NodeFields {
  const selected = selectFields(schema, field.node.selectionSet, type);
  const nodes = selected.find(({ name }) => name === "nodes");
  const edges = selected.find(({ name }) => name === "edges");
  const edgeType = compositeOf(edges);
  const ofEdge = edgeType === undefined ? [] : selectFields(schema, edges?.node.selectionSet, edgeType);
  return { nodes, edges, node: ofEdge.find(({ name }) => name === "node") };
}
