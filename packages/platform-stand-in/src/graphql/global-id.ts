import { badArgument } from "./errors.ts";

/** The numeric part of a global id of the given kind. */
export function readId(id: string, kind: string): string {
  const [, found, tail] = /^gid:\/\/shopify\/([A-Za-z]+)\/(\d+)$/.exec(id) ?? [];
  if (found === undefined || tail === undefined)
    throw badArgument(`Invalid global id '${id}'`, "argumentLiteralsIncompatible");
  if (found !== kind) throw badArgument(`Invalid id: ${id}`, "RESOURCE_NOT_FOUND");
  return tail;
}
