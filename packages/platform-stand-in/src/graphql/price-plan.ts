import type {
  GraphQLCompositeType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
  ValueNode,
} from "graphql";
import { compositeOf, isConnection, type SelectedField, selectFields } from "./selection.ts";

/** Pairs of a value and its unit or name. Recorded costs match when these are free (see README). */
const freeTypes = new Set(["PageInfo", "SelectedOption", "Weight"]);

/** An object or connection of a document; scalars are free and left out. */
export interface PricedField {
  readonly key: string;
  /** The object types that it is selected on; only one type's fragments of an interface apply. */
  readonly on: readonly string[];
  readonly cost: 0 | 1;
  readonly connection: PricedConnection | undefined;
  /** For a connection: the fields of one node. */
  readonly children: readonly PricedField[];
}

export interface PricedConnection {
  readonly size: ValueNode | undefined;
  /** Key of the nodes in the response, if they are selected. */
  readonly nodes: string | undefined;
  readonly edges: { readonly key: string; readonly node: string } | undefined;
}

/**
 * Data for computing the cost of an operation, prepared once per document. `@skip` and `@include`
 * count as included.
 */
export interface PricePlan {
  readonly isMutation: boolean;
  readonly rootFields: number;
  readonly fields: readonly PricedField[];
}

/** Fragments of the operation must be inlined already. */
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
    // A repeated key is one field in the response: two fragments may each select a part of it.
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
  const size = field.node.arguments?.find(({ name }) => name.value === "first")?.value;
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

/** How a selection on a connection gets its nodes: `nodes`, or `edges` with `node`. */
export function findNodes(schema: GraphQLSchema, field: SelectedField, type: GraphQLCompositeType): NodeFields {
  const selected = selectFields(schema, field.node.selectionSet, type);
  const nodes = selected.find(({ name }) => name === "nodes");
  const edges = selected.find(({ name }) => name === "edges");
  const edgeType = compositeOf(edges);
  const ofEdge = edgeType === undefined ? [] : selectFields(schema, edges?.node.selectionSet, edgeType);
  return { nodes, edges, node: ofEdge.find(({ name }) => name === "node") };
}
