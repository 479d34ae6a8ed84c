import { chain } from "../base/maybe-promise.ts";
import type { CacheNamespace } from "../cache/namespace.ts";
import { cdnNoStore } from "../cache/policy.ts";
import { type HeaderFields, HeaderTemplate, ResponseBody } from "../cache/response.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import { type Cdn, cdns, keyTag, toPurgeTags } from "../cdn/headers.ts";
import type { Handler } from "../http/endpoint.ts";
import type { Operation, OperationSettings, Reference } from "./operation.ts";

/** Attempts to get a response whose alias still matches when it is loaded. */
const maxAttempts = 3;

/**
 * Finds the key of another operation's response, and gets that response.
 * @param getOwn gets this operation's {@link ReferenceBody}
 * @param namespace the other operation's namespace
 */
export function getReferred(
  operation: Operation,
  getOwn: Handler,
  namespace: CacheNamespace,
  cache: ResponseCache,
  settings: OperationSettings,
): Handler {
  const { name, noun = name, parseKey } = operation;
  const cdn: Cdn | undefined = cdns[settings.cdn];
  const get = (attempt: number, ...[request, nowMs, origin]: Parameters<Handler>): ReturnType<Handler> =>
    chain(getOwn(request, nowMs, origin), (reference) => {
      if (reference === undefined) return undefined;
      const { key } = reference.body as ReferenceBody;
      return chain(cache.get(namespace, key, nowMs, origin), (response) => {
        if (response !== undefined && response.body.alias !== reference.body.alias) {
          // One of them is outdated, and the change between them has not arrived here yet.
          if (attempt === maxAttempts) return undefined;
          cache.invalidate(name, parseKey(request));
          cache.invalidate(namespace.name, key);
          return get(attempt + 1, request, nowMs, origin);
        }
        if (response === undefined || (cdn === undefined && !reference.isOutdated)) return response;
        // Includes this operation's key, because it may refer to another response later.
        const tags = cdn && tagHeaders([noun, keyTag(noun, key), keyTag(noun, parseKey(request))], cdn);
        return response.with({ ...tags }, reference);
      });
    });
  return (...parameters) => get(1, ...parameters);
}

/** A CDN must not keep a response that it could not purge. */
export function tagHeaders(tags: readonly string[], cdn: Cdn): HeaderFields {
  const purgeTags = toPurgeTags(tags, cdn);
  return purgeTags === undefined ? { [cdn.cacheField]: cdnNoStore } : { [purgeTags.field]: purgeTags.value };
}

const noHeaders = new HeaderTemplate("text/plain");

/** Stands in for a response in the cache. */
export class ReferenceBody extends ResponseBody {
  readonly key: string;

  constructor({ referred, alias }: Reference) {
    super({ template: noHeaders, body: referred, tag: referred, alias });
    this.key = referred;
  }
}
