import { readFileSync } from "node:fs";
import {
  buildSchema,
  defaultFieldResolver,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isObjectType,
} from "graphql";
import type { RequestContext } from "./context.ts";
import { accessDenied } from "./errors.ts";
import { resolvers } from "./resolvers.ts";
import { scopeOf } from "./scopes.ts";

type Resolver = GraphQLFieldResolver<unknown, RequestContext>;

const folder = new URL("../schema/", import.meta.url);
const files = ["admin-2026-10.subset.graphql", "admin-2026-10.more.graphql"];

/** Bulk runs read these fields as properties of their records, although they have resolvers. */
const listNames = ["images", "media", "metafields", "variants", "resourcePublications"];

/** The real schema with resolvers for the fields that are not just a property of their record. */
export function createSchema(): GraphQLSchema {
  const text = files.map((file) => readFileSync(new URL(file, folder), "utf8")).join("\n");
  // Assumed valid because checking it at each start costs more than building it.
  const schema = buildSchema(text, { assumeValid: true });
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const resolve = resolvers[`${type.name}.${field.name}`];
      const scope = scopeOf(type.name, field.name);
      // The table has resolvers of all record types; only the schema knows which type belongs to
      // which.
      if (resolve !== undefined) {
        field.resolve = resolve as Resolver;
        field.extensions = { isComputed: !listNames.includes(field.name) };
      }
      if (scope !== undefined) field.resolve = requireScope(scope, field.resolve);
    }
  }
  return schema;
}

function requireScope(scope: string, resolve: Resolver = defaultFieldResolver): Resolver {
  return (source, args, context, info) => {
    if (!context.scopes.has(scope)) throw accessDenied(info.fieldName, scope);
    return resolve(source, args, context, info);
  };
}
