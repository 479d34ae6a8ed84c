import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isUnionType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  visit,
} from "graphql";

/** A selected field; `on` are the object types that it applies to. */
export interface SelectedField {
  readonly node: FieldNode;
  readonly key: string;
  readonly name: string;
  readonly on: readonly string[];
  readonly parent: GraphQLCompositeType;
  /** Undefined for `__typename`, which every type has. */
  readonly type: GraphQLOutputType | undefined;
  /** Whether it needs a resolver. Lists do not: they are also properties of their records. */
  readonly isComputed: boolean;
}

/** The operations of a document with all fragment spreads inlined. */
export function inlineFragments(document: DocumentNode): OperationDefinitionNode[] {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
  }
  return operations.map((operation) =>
    visit(operation, {
      FragmentSpread: {
        enter: ({ name }) => {
          const fragment = fragments.get(name.value);
          if (fragment === undefined) return undefined;
          const { typeCondition, selectionSet } = fragment;
          return { kind: Kind.INLINE_FRAGMENT, typeCondition, directives: [], selectionSet };
        },
      },
    }),
  );
}

/** The selected fields of a type, including those in inline fragments. */
export function selectFields(
  schema: GraphQLSchema,
  set: SelectionSetNode | undefined,
  parent: GraphQLCompositeType,
): SelectedField[] {
  return (set?.selections ?? []).flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [toSelected(schema, selection, parent)];
    if (selection.kind === Kind.FRAGMENT_SPREAD) return [];
    const named = selection.typeCondition && schema.getType(selection.typeCondition.name.value);
    return selectFields(schema, selection.selectionSet, isCompositeType(named) ? named : parent);
  });
}

function toSelected(schema: GraphQLSchema, node: FieldNode, parent: GraphQLCompositeType): SelectedField {
  const name = node.name.value;
  const field = isUnionType(parent) ? undefined : parent.getFields()[name];
  return {
    node,
    key: node.alias?.value ?? name,
    name,
    on: isAbstractType(parent) ? schema.getPossibleTypes(parent).map((type) => type.name) : [parent.name],
    parent,
    type: field?.type,
    isComputed: field?.extensions.isComputed === true,
  };
}

/** The object, interface, or union inside lists and non-nulls; undefined for a scalar. */
export function compositeOf(field: SelectedField | undefined): GraphQLCompositeType | undefined {
  const named = field?.type && getNamedType(field.type);
  return isCompositeType(named) ? named : undefined;
}

export function isConnection(type: GraphQLCompositeType | undefined): boolean {
  return type?.name.endsWith("Connection") === true;
}
