import { readFileSync } from "node:fs";
import { buildSchema, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from "graphql";
import type { RequestContext } from "./context.ts";
import { resolvers } from "./resolvers.ts";
import { requireScope, scopeOf } from "./scopes.ts";

const folder = new URL("../schema/", import.meta.url);
const files = ["admin-2026-10.subset.graphql", "admin-2026-10.more.graphql"];

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
      if (resolve !== undefined) field.resolve = resolve as GraphQLFieldResolver<unknown, RequestContext>;
      if (scope !== undefined) field.resolve = requireScope(scope, field.resolve);
    }
  }
  return schema;
}
