import { chain } from "../base/maybe-promise.ts";
import type { CacheNamespace } from "../cache/namespace.ts";
import { cdnNoStore } from "../cache/policy.ts";
import { type HeaderFields, HeaderTemplate, ResponseBody } from "../cache/response.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import { type Cdn, cdns, keyTag, toPurgeTags } from "../cdn/headers.ts";
import type { Handler } from "../http/endpoint.ts";
import type { Operation, OperationSettings, Reference } from "./operation.ts";

/** Attempts to get a response that was loaded when its name was that by which it was found. */
const maxAttempts = 3;

/**
 * Finds out the key of another operation's response, and gets that.
 * @param getOwn gets the {@link ReferenceBody} of the operation itself
 * @param namespace that of the other operation
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
  const get = (attempt: number, ...[request, requestId, nowMs, origin]: Parameters<Handler>): ReturnType<Handler> =>
    chain(getOwn(request, requestId, nowMs, origin), (reference) => {
      if (reference === undefined) return undefined;
      const { key } = reference.body as ReferenceBody;
      return chain(cache.get(namespace, key, nowMs, origin), (response) => {
        if (response !== undefined && response.body.alias !== reference.body.alias) {
          // One is older, and the change between them is not yet known here.
          if (attempt === maxAttempts) return undefined;
          cache.invalidate(name, parseKey(request));
          cache.invalidate(namespace.name, key);
          return get(attempt + 1, request, requestId, nowMs, origin);
        }
        if (response === undefined || (cdn === undefined && !reference.isOutdated)) return response;
        // The own key too, because it may refer to another response later.
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

/** Takes the place of a response in the cache. */
export class ReferenceBody extends ResponseBody {
  readonly key: string;

  constructor({ referred, alias }: Reference) {
    super({ template: noHeaders, body: referred, tag: referred, alias });
    this.key = referred;
  }
}
