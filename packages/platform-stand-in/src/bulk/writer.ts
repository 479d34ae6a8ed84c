import { type GraphQLSchema, Kind, type OperationDefinitionNode } from "graphql";
import { fromArray, type LazyList } from "../catalog/list.ts";
import type { MediaRecord, ProductRecord } from "../catalog/records.ts";
import { filterMedia } from "../graphql/media.ts";
import { findNodes } from "../graphql/price-plan.ts";
import { isPublishedOn, listPublications } from "../graphql/publications.ts";
import { scopeOf } from "../graphql/scopes.ts";
import { compositeOf, isConnection, type SelectedField, selectFields } from "../graphql/selection.ts";
import { InvalidBulkQuery } from "./rules.ts";

type Values = Readonly<Record<string, unknown>>;

/** Copies the selected fields of a record. */
type Copy = (record: Values) => Record<string, unknown>;

/** Writes one kind of line and the lists of child lines below it. */
interface LineWriter {
  readonly copy: Copy;
  readonly children: readonly { readonly list: (record: Values) => LazyList<object>; readonly writer: LineWriter }[];
}

export interface BulkWriter {
  /** The `query` argument of `products`. */
  readonly search: string | undefined;
  readonly scopes: ReadonlySet<string>;
  /** Appends the lines of one product, each parent before its children. */
  writeProduct(product: ProductRecord, lines: string[]): void;
}

/**
 * Turns a validated query into functions that write its lines. This is much faster than executing
 * it, and there is a line for each metafield of each variant.
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

function writeLines({ copy, children }: LineWriter, record: object, parentId: unknown, lines: string[]): void {
  const values = record as Values;
  const line = copy(values);
  if (parentId !== undefined) line.__parentId = parentId;
  lines.push(JSON.stringify(line));
  for (const { list, writer } of children) {
    const elements = list(values);
    for (let index = 0; index < elements.length; index += 1) writeLines(writer, elements.at(index), values.id, lines);
  }
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
  return {
    copy: compileFields(
      schema,
      fields.filter((field) => !lists.includes(field)),
    ),
    children: lists.map((field) => ({ list: readList(field), writer: compileList(schema, field, scopes) })),
  };
}

/** If the fields are of several types, each record has those of its own type. */
function compileFields(schema: GraphQLSchema, fields: readonly SelectedField[]): Copy {
  const readers = fields.map((field) => ({ field, read: compileField(schema, field) }));
  const hasOneType = new Set(fields.map(({ parent }) => parent.name)).size <= 1;
  return (record) => {
    const values: Record<string, unknown> = {};
    for (const { field, read } of readers) {
      if (hasOneType || field.on.includes(`${record.__typename}`)) values[field.key] = read(record);
    }
    return values;
  };
}

function compileField(schema: GraphQLSchema, field: SelectedField): (record: Values) => unknown {
  const { name } = field;
  if (name === "publishedOnPublication") {
    const id = textArgument(field, "publicationId") ?? "";
    return (record) => isPublishedOn(record as unknown as ProductRecord, id);
  }
  const type = compositeOf(field);
  // A line contains only properties of its record.
  if (isConnection(type) || field.isComputed) reject(field);
  if (type === undefined) return (record) => record[name] ?? null;
  const copy = compileFields(schema, selectFields(schema, field.node.selectionSet, type));
  return (record) => {
    const value = record[name] as Values | Values[] | null | undefined;
    if (value == null) return null;
    return Array.isArray(value) ? value.map(copy) : copy(value);
  };
}

function readList(field: SelectedField): (record: Values) => LazyList<object> {
  if (field.name === "resourcePublications") {
    const value = field.node.arguments?.find((argument) => argument.name.value === "onlyPublished")?.value;
    const onlyPublished = value?.kind !== Kind.BOOLEAN || value.value;
    return (record) => fromArray(listPublications(record as unknown as ProductRecord, onlyPublished));
  }
  if (field.isComputed) reject(field);
  if (field.name !== "media") return (record) => record[field.name] as LazyList<object>;
  const query = textArgument(field, "query");
  return (record) => filterMedia(record.media as LazyList<MediaRecord>, query);
}

function reject({ name }: SelectedField): never {
  throw new InvalidBulkQuery(`The stand-in cannot write ${name} in a bulk run.`);
}

function textArgument(field: SelectedField, name: string): string | undefined {
  const value = field.node.arguments?.find((argument) => argument.name.value === name)?.value;
  return value?.kind === Kind.STRING ? value.value : undefined;
}
