import { type GraphQLSchema, Kind, type OperationDefinitionNode } from "graphql";
import { fromArray, type LazyList } from "../catalog/list.ts";
import type { MediaRecord, ProductRecord } from "../catalog/records.ts";
import { filterMedia } from "../graphql/media.ts";
import { findNodes } from "../graphql/price-plan.ts";
import { listPublications } from "../graphql/publications.ts";
import { scopeOf } from "../graphql/scopes.ts";
import { compositeOf, isConnection, type SelectedField, selectFields } from "../graphql/selection.ts";
import { compileLine, type WriteLine } from "./compile-line.ts";
import { InvalidBulkQuery } from "./rules.ts";

/** Writes one kind of line and the lists of child lines below it. */
interface LineWriter {
  readonly write: WriteLine;
  readonly children: readonly { readonly list: (record: object) => LazyList<object>; readonly writer: LineWriter }[];
}

export interface BulkWriter {
  /** The `query` argument of `products`. */
  readonly search: string | undefined;
  readonly scopes: ReadonlySet<string>;
  /** Appends the lines of one product, each parent before its children. */
  writeProduct(product: ProductRecord, lines: string[]): void;
}

/**
 * Compiles a validated query into functions that write its lines. This is much faster than
 * executing it, and there is a line for each metafield of each variant.
 */
export function createBulkWriter(schema: GraphQLSchema, operation: OperationDefinitionNode): BulkWriter {
  const root = schema.getQueryType();
  const fields = root == null ? [] : selectFields(schema, operation.selectionSet, root);
  const [products] = fields;
  if (products === undefined || fields.length > 1 || products.name !== "products") {
    throw new InvalidBulkQuery("The stand-in runs bulk queries over products only.");
  }
  const scopes = new Set(["read_products"]);
  const writer = compileList(schema, products, scopes);
  return {
    search: textArgument(products, "query"),
    scopes,
    writeProduct: (product, lines) => writeLines(writer, product, undefined, lines),
  };
}

function writeLines(writer: LineWriter, record: object, parentId: unknown, lines: string[]): void {
  const start = writer.write(record);
  lines.push(parentId === undefined ? `${start}}` : `${start},"__parentId":"${parentId}"}`);
  for (const child of writer.children) {
    const list = child.list(record);
    const id = read(record, "id");
    for (let index = 0; index < list.length; index += 1) writeLines(child.writer, list.at(index), id, lines);
  }
}

function read(record: object, name: string): unknown {
  return (record as Readonly<Record<string, unknown>>)[name];
}

function compileList(schema: GraphQLSchema, connection: SelectedField, scopes: Set<string>): LineWriter {
  const type = compositeOf(connection);
  const { node } = type === undefined ? { node: undefined } : findNodes(schema, connection, type);
  const nodeType = compositeOf(node);
  if (node === undefined || nodeType === undefined) throw new InvalidBulkQuery(`${connection.name} selects no node.`);
  const fields = selectFields(schema, node.node.selectionSet, nodeType);
  for (const { parent, name } of fields) {
    const scope = scopeOf(parent.name, name);
    if (scope !== undefined) scopes.add(scope);
  }
  const lists = fields.filter((field) => isConnection(compositeOf(field)));
  const computed = lists.find((field) => field.isComputed);
  if (computed) throw new InvalidBulkQuery(`The stand-in cannot write ${computed.name} in a bulk run.`);
  return {
    write: compileLine(
      schema,
      fields.filter((field) => !lists.includes(field)),
    ),
    children: lists.map((field) => ({ list: readList(field), writer: compileList(schema, field, scopes) })),
  };
}

function readList(field: SelectedField): (record: object) => LazyList<object> {
  if (field.name === "resourcePublications") {
    const value = field.node.arguments?.find((argument) => argument.name.value === "onlyPublished")?.value;
    const onlyPublished = value?.kind !== Kind.BOOLEAN || value.value;
    return (record) => fromArray(listPublications(record as ProductRecord, onlyPublished));
  }
  if (field.name !== "media") return (record) => read(record, field.name) as LazyList<object>;
  const query = textArgument(field, "query");
  return (record) => filterMedia(read(record, "media") as LazyList<MediaRecord>, query);
}

function textArgument(field: SelectedField, name: string): string | undefined {
  const value = field.node.arguments?.find((argument) => argument.name.value === name)?.value;
  return value?.kind === Kind.STRING ? value.value : undefined;
}
