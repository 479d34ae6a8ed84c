import {
  type GraphQLNullableOutputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNullableType,
  isCompositeType,
  isListType,
  isNonNullType,
} from "graphql";
import { isComputed } from "../graphql/resolvers.ts";
import { compositeOf, isConnection, type SelectedField, selectFields } from "../graphql/selection.ts";
import { BrokenRule } from "./rules.ts";

/** Answers a line without its closing brace, so that `__parentId` can follow. */
export type WriteLine = (record: object) => string;

/** Of these types no value needs escaping, which is most of what a bulk run writes. */
const plainTypes = new Set(["ID", "UnsignedInt64", "DateTime", "Money"]);
const bareTypes = new Set(["Int", "Float", "Boolean"]);

/**
 * Makes a function that writes the selected fields of a record. It is generated as code, one template literal a kind of
 * line, because a run writes millions of fields, and reading each by a name held in a variable took most of the time.
 * Only names that the schema knows, and keys that GraphQL's grammar allows, get into the code.
 */
export function compileLine(schema: GraphQLSchema, fields: readonly SelectedField[]): WriteLine {
  const code = `return (record) => \`${textOfFields(schema, fields, "record")}\`;`;
  const make = new Function("quote", "list", code) as (quote: typeof quoteText, list: typeof writeList) => WriteLine;
  return make(quoteText, writeList);
}

/** Quotes, backslashes, control characters and halves of pairs: whatever may need escaping. */
const unsafe = /["\\]|[^ -\uD7FF\uE000-\uFFFF]/;

/** Most texts need no escaping, and looking for it costs less than having it done. */
function quoteText(text: string): string {
  return unsafe.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function writeList(values: readonly unknown[], write: (value: unknown) => string): string {
  return `[${values.map(write).join(",")}]`;
}

/** The inside of a template literal: `{` and the fields. */
function textOfFields(schema: GraphQLSchema, fields: readonly SelectedField[], record: string): string {
  const oneType = new Set(fields.map(({ parent }) => parent.name)).size <= 1;
  const texts = fields.map((field) => `"${field.key}":${textOfField(schema, field, record)}`);
  if (oneType) return `{${texts.join(",")}`;
  // Where fields stand on several types, each asks which its record is of; any of them may be the first to be there.
  const asked = fields.map(({ on }, index) => {
    return on.length > 1 ? `,${texts[index]}` : `\${${record}.__typename === "${on[0]}" ? \`,${texts[index]}\` : ""}`;
  });
  return `{\${\`${asked.join("")}\`.slice(1)}`;
}

function textOfField(schema: GraphQLSchema, field: SelectedField, record: string): string {
  const value = `${record}.${field.name}`;
  if (field.name === "__typename") return `"\${${value}}"`;
  // A line is written from properties of its record alone.
  if (field.type === undefined || isConnection(compositeOf(field)) || isComputed(field.parent.name, field.name)) {
    throw new BrokenRule(`The stand-in cannot write ${field.name} in a bulk run.`);
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
