import { plugin } from "@graphql-codegen/typescript-operations";
import { $ } from "bun";
import {
  type DirectiveNode,
  type DocumentNode,
  type GraphQLOutputType,
  getNamedType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { createSchema } from "../packages/platform-stand-in/src/graphql/schema.ts";
import { optionalFields } from "../src/platforms/shopify/optional-fields.ts";
import { createDocuments } from "../src/platforms/shopify/queries.ts";

const schema = createSchema();

/** The fields that not all documents select: Shopify may refuse some, others depend on the settings. */
const conditionalFields = new Set([
  ...Object.keys(optionalFields),
  "Product.publishedOnPublication",
  "Product.resourcePublications",
]);

/** Makes a field optional in the types. The documents that are sent do not have it. */
const include: DirectiveNode = {
  kind: Kind.DIRECTIVE,
  name: { kind: Kind.NAME, value: "include" },
  arguments: [
    {
      kind: Kind.ARGUMENT,
      name: { kind: Kind.NAME, value: "if" },
      value: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: "isSelected" } },
    },
  ],
};

function toTypedDocument(text: string): DocumentNode {
  const types = new TypeInfo(schema);
  return visit(
    parse(text),
    visitWithTypeInfo(types, {
      // Only the responses get types.
      OperationDefinition: (node) => ({ ...node, variableDefinitions: [] }),
      Field: (node) =>
        conditionalFields.has(`${types.getParentType()}.${node.name.value}`)
          ? { ...node, directives: [include] }
          : undefined,
    }),
  );
}

/** How the shape of a response is written. */
interface ShapeOptions {
  /** Only the id of each product on a page: one that is not whole must not fail the others. */
  readonly hasOnlyIds?: boolean;
  /** Lists as a `CompleteProduct` has them: without their pages. */
  readonly isComplete?: boolean;
}

const scalars: Readonly<Record<string, string>> = {
  Int: "number",
  Float: "number",
  Boolean: "boolean",
  DateTime: "time",
  UnsignedInt64: "digits",
};

function toShape(type: GraphQLOutputType, selection: SelectionSetNode | undefined, options: ShapeOptions): string {
  if (!isNonNullType(type)) return `nullable(${toRequiredShape(type, selection, options)})`;
  return toRequiredShape(type.ofType, selection, options);
}

function toRequiredShape(
  type: GraphQLOutputType,
  selection: SelectionSetNode | undefined,
  options: ShapeOptions,
): string {
  if (isListType(type)) return `list(${toShape(type.ofType, selection, options)})`;
  const { name } = getNamedType(type);
  if (name === "PageInfo") return "pageInfo";
  if (selection === undefined) return scalars[name] ?? "string";
  const fields = toFields(name, selection, options);
  if (options.isComplete && "pageInfo" in fields) return fields.nodes ?? "";
  const kept = name === "Product" && options.hasOnlyIds ? { legacyResourceId: fields.legacyResourceId } : fields;
  const entries = Object.entries(kept).map(([field, shape]) => `${field}: ${shape}`);
  return `object({ ${entries.join(", ")} })`;
}

function toFields(typeName: string, { selections }: SelectionSetNode, options: ShapeOptions): Record<string, string> {
  const fields: Record<string, string> = {};
  const type = schema.getType(typeName);
  for (const node of selections) {
    if (node.kind === Kind.INLINE_FRAGMENT) {
      const ofFragment = toFields(node.typeCondition?.name.value ?? typeName, node.selectionSet, options);
      for (const [name, shape] of Object.entries(ofFragment)) fields[name] = `optional(${shape})`;
    } else if (node.kind === Kind.FIELD && (isObjectType(type) || isInterfaceType(type))) {
      const name = node.name.value;
      const field = type.getFields()[name];
      if (field === undefined) throw new Error(`${typeName} has no field ${name}`);
      const shape = toShape(field.type, node.selectionSet, options);
      const isConditional = conditionalFields.has(`${typeName}.${name}`);
      fields[node.alias?.value ?? name] = isConditional ? `optional(${shape})` : shape;
    }
  }
  return fields;
}

function toDataFields(text: string, options: ShapeOptions = {}): Record<string, string> {
  const [operation] = parse(text).definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error("expected one operation");
  const root = schema.getRootType(operation.operation);
  return toFields(root?.name ?? "", operation.selectionSet, options);
}

/** Writes the constants that check at run time whether responses are as the types say. */
function describeShapes(documents: ReturnType<typeof createDocuments>["documents"]): string {
  const unwrap = (shape = "") => shape.replace(/^nullable\((.*)\)$/s, "$1");
  const whole = unwrap(toDataFields(documents.ProductById).product);
  const complete = unwrap(toDataFields(documents.ProductById, { isComplete: true }).product);
  const shapes = Object.entries(documents).map(([name, text]) => {
    const fields = Object.entries(toDataFields(text, { hasOnlyIds: name === "ProductsPage" }));
    return `${name}: object({ ${fields.map(([field, shape]) => `${field}: ${shape.replace(whole, "product")}`)} })`;
  });
  return `
    /** A product with the first page of each of its lists. */
    export const product = ${whole};

    /** A product with all of its lists. */
    export const completeProduct = ${complete};

    /** The data of each operation. Each product of a page must be checked by itself. */
    export const shapes = { ${shapes} };`;
}

/** @returns the source of the types of Shopify's responses, from its schema and the documents with every field */
export async function describeResponses(root: string): Promise<string> {
  const { documents, bulkQueries } = createDocuments({ publication: "gid://shopify/Publication/1" });
  const texts = {
    ...documents,
    BulkProducts: `query BulkProducts ${bulkQueries.products}`,
    BulkMedia: `query BulkMedia ${bulkQueries.media}`,
  };
  const config = {
    defaultScalarType: "string",
    immutableTypes: true,
    noExport: true,
    omitOperationSuffix: true,
    skipTypename: true,
  };
  const typed = Object.values(texts).map((text) => ({ document: toTypedDocument(text) }));
  const { content } = await plugin(schema, typed, config, { outputFile: "" });
  const names = Object.keys(texts);
  const source = `
    // Generated by scripts/response-types.ts; run npm run document.

    import { boolean, digits, list, nullable, number, object, optional, pageInfo, string, time } from "./shape.ts";

    ${content.replace(/^type \w+Variables = .*$/gm, "")}

    /** The data of a successful response, by the name of its operation. */
    export interface Responses { ${names.map((name) => `readonly ${name}: ${name}`).join("; ")} }

    ${describeShapes(documents)}`;
  return await $`node_modules/.bin/biome format --stdin-file-path=responses.ts < ${new Response(source)}`
    .cwd(root)
    .text();
}
