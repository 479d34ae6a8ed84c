import {
  type GraphQLNullableOutputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNullableType,
  isCompositeType,
  isListType,
  isNonNullType,
  Kind,
} from "graphql";
import { isPublishedOn } from "../graphql/publications.ts";
import { compositeOf, isConnection, type SelectedField, selectFields } from "../graphql/selection.ts";
import { InvalidBulkQuery } from "./rules.ts";

/** Returns a line without its closing brace, so that `__parentId` can be appended. */
export type WriteLine = (record: object) => string;

/** Most values of a bulk run have these types, which never need escaping. */
const plainTypes = new Set(["ID", "UnsignedInt64", "DateTime", "Money"]);
const bareTypes = new Set(["Int", "Float", "Boolean"]);

/**
 * Compiles a function that writes the selected fields of a record. It generates code with one
 * template literal because a run writes millions of fields, and dynamic property access took most
 * of the time. The code contains only names from the schema and keys that the GraphQL grammar
 * allows.
 */
export function compileLine(schema: GraphQLSchema, fields: readonly SelectedField[]): WriteLine {
  const code = `return (record) => \`${textOfFields(schema, fields, "record")}\`;`;
  const make = new Function("quote", "list", "isPublished", code) as (
    quote: typeof quoteText,
    list: typeof writeList,
    isPublished: typeof isPublishedOn,
  ) => WriteLine;
  return make(quoteText, writeList, isPublishedOn);
}

/** Quotes, backslashes, control characters, and lone surrogates may need escaping. */
const unsafe = /["\\]|[^ -\uD7FF\uE000-\uFFFF]/;

/** Most texts need no escaping, and checking is cheaper than JSON.stringify. */
function quoteText(text: string): string {
  return unsafe.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function writeList(values: readonly unknown[], write: (value: unknown) => string): string {
  return `[${values.map(write).join(",")}]`;
}

/** Content of the template literal: `{` and the fields. */
function textOfFields(schema: GraphQLSchema, fields: readonly SelectedField[], record: string): string {
  const oneType = new Set(fields.map(({ parent }) => parent.name)).size <= 1;
  const texts = fields.map((field) => `"${field.key}":${textOfField(schema, field, record)}`);
  if (oneType) return `{${texts.join(",")}`;
  // With fields of several types, each field checks the type of the record; any of them may come
  // first.
  const asked = fields.map(({ on }, index) => {
    return on.length > 1 ? `,${texts[index]}` : `\${${record}.__typename === "${on[0]}" ? \`,${texts[index]}\` : ""}`;
  });
  return `{\${\`${asked.join("")}\`.slice(1)}`;
}

function textOfField(schema: GraphQLSchema, field: SelectedField, record: string): string {
  const value = `${record}.${field.name}`;
  if (field.name === "__typename") return `"\${${value}}"`;
  if (field.name === "publishedOnPublication") {
    const id = field.node.arguments?.find(({ name }) => name.value === "publicationId")?.value;
    return `\${isPublished(${record}, ${JSON.stringify(id?.kind === Kind.STRING ? id.value : "")})}`;
  }
  // A line contains only properties of its record.
  if (field.type === undefined || isConnection(compositeOf(field)) || field.isComputed) {
    throw new InvalidBulkQuery(`The stand-in cannot write ${field.name} in a bulk run.`);
  }
  return textOfValue(schema, field, field.type, value);
}

function textOfValue(schema: GraphQLSchema, field: SelectedField, type: GraphQLOutputType, value: string): string {
  const present = textOfPresent(schema, field, getNullableType(type), value);
  return isNonNullType(type) ? present : `\${${value} == null ? "null" : \`${present}\`}`;
}

function textOfPresent(
  schema: GraphQLSchema,
  field: SelectedField,
  type: GraphQLNullableOutputType,
  value: string,
): string {
  if (isListType(type)) {
    return `\${list(${value}, (element) => \`${textOfValue(schema, field, type.ofType, "element")}\`)}`;
  }
  if (isCompositeType(type)) {
    return `${textOfFields(schema, selectFields(schema, field.node.selectionSet, type), value)}}`;
  }
  if (plainTypes.has(type.name)) return `"\${${value}}"`;
  return bareTypes.has(type.name) ? `\${${value}}` : `\${quote(${value})}`;
}
