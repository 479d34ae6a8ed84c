import { chain } from "../base/maybe-promise.ts";
import type { CacheEntry, CacheNamespace } from "../cache/namespace.ts";
import { type CachePolicy, cacheHeaders, withCdnLifetime } from "../cache/policy.ts";
import { HeaderTemplate, ResponseBody, varyByEncoding } from "../cache/response.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import { type Cdn, cdns, fingerprintTag, keyTag, toPurgeTags } from "../cdn/headers.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { FailureResponse, Handler, Routes } from "../http/endpoint.ts";
import { toProblem } from "../http/errors.ts";
import type { Operation, OperationContext, OperationResult, Redirection, Reference } from "./operation.ts";
import { getReferred, ReferenceBody, tagHeaders } from "./referred.ts";

/**
 * Serves an operation's routes through the cache. The path of a request: the listener calls `get`,
 * and the cache returns the entry for the key. On a miss, it calls the namespace's `load` below,
 * once for all requests that wait for the key: the operation's loader reads the store through the
 * concurrency limit, see {@link OperationContext.query}, and its result becomes the entry, with
 * headers and purge tags. The listener sends the response, or 304, in the client's encoding.
 */
export function operationRoutes(operation: Operation, cache: ResponseCache, context: OperationContext): Routes {
  const namespace = toNamespace(operation, context);
  const { parseKey, responsesOf } = operation;
  const getOwn: Handler = (request, nowMs, origin) => cache.get(namespace, parseKey(request), nowMs, origin);
  const get =
    responsesOf === undefined
      ? getOwn
      : getReferred(operation, getOwn, toNamespace(responsesOf, context), cache, context.settings);
  const toFailure = tagMissing(operation, context);
  return Object.fromEntries(operation.routes.map(({ path }) => [path, { get, toFailure }]));
}

/** The cache namespaces whose responses are made from each noun. */
export const namespacesByNoun = (operations: readonly Operation[]): ReadonlyMap<string, readonly string[]> =>
  new Map(
    Object.entries(Object.groupBy(operations, ({ name, noun = name }) => noun)).map(([noun, ofNoun = []]) => [
      noun,
      ofNoun.map(({ name }) => name),
    ]),
  );

/** A missing object may be added at any time, so its response is tagged for a purge. */
function tagMissing(operation: Operation, context: OperationContext): FailureResponse {
  const { name, noun = name, parseKey, createFailureResponse } = operation;
  const cdn: Cdn | undefined = cdns[context.settings.cdn];
  const toFailure = createFailureResponse?.(context) ?? toProblem;
  return (failure, requestId, request) => {
    const parts = toFailure(failure, requestId, request);
    if (cdn === undefined || failure.status !== 404) return parts;
    return { ...parts, headers: { ...parts.headers, ...tagHeaders([noun, keyTag(noun, parseKey(request))], cdn) } };
  };
}

function toNamespace(operation: Operation, context: OperationContext): CacheNamespace {
  const { name, noun = name, tagKeys = (key) => [key] } = operation;
  const cdn: Cdn | undefined = cdns[context.settings.cdn];
  const { purge, cacheNotFound } = context.settings;
  const configured = operation.cachePolicy(context.settings);
  const lifetime = operation.lifetime(configured, context.settings);
  const policy = purge && lifetime.isInvalidated ? withCdnLifetime(configured, purge.max_age) : configured;
  const toTemplate = (ofPolicy: CachePolicy, isPurgeable: boolean) =>
    new HeaderTemplate("application/json", { ...cacheHeaders(ofPolicy, cdn, isPurgeable), ...varyByEncoding });
  const [purgeable, unpurgeable] = [toTemplate(policy, true), toTemplate(policy, false)];
  const [emptyPurgeable, emptyUnpurgeable] = [toTemplate(cacheNotFound, true), toTemplate(cacheNotFound, false)];
  const load = operation.createLoader(context);
  // Tags work only for recorded changes, which name the key.
  const tagsOf = (key: string, fingerprints: readonly number[] = []) =>
    lifetime.isInvalidated
      ? [noun, ...tagKeys(key).map((each) => keyTag(noun, each)), ...fingerprints.map(fingerprintTag)]
      : [noun];
  const redirect = (key: string, { location, fingerprints }: Redirection): CacheEntry => {
    const purgeTags = cdn && toPurgeTags(tagsOf(key, fingerprints), cdn);
    const caching = cacheHeaders(cacheNotFound, cdn, cdn === undefined || purgeTags !== undefined);
    const template = new HeaderTemplate("text/plain", { ...caching, Location: location });
    // Counts as empty: clients can invent any number of addresses that redirect.
    return { body: new ResponseBody({ template, status: 302, body: "", purgeTags }), isEmpty: true, fingerprints };
  };
  const toEntry = (key: string, result: OperationResult | Reference | Redirection | undefined): CacheEntry => {
    if (result === undefined) return { body: undefined, isEmpty: true };
    if ("referred" in result) return { body: new ReferenceBody(result), isEmpty: false };
    if ("location" in result) return redirect(key, result);
    const { body, tag, alias, isEmpty = false, fingerprints } = result;
    const purgeTags = cdn && toPurgeTags(tagsOf(key, fingerprints), cdn);
    const canPurge = cdn === undefined || purgeTags !== undefined;
    const template = isEmpty ? (canPurge ? emptyPurgeable : emptyUnpurgeable) : canPurge ? purgeable : unpurgeable;
    const responseBody = new ResponseBody({ template, body, tag, purgeTags, alias });
    return { body: responseBody, isEmpty, ...(fingerprints !== undefined && { fingerprints }) };
  };
  return {
    name,
    ...lifetime,
    load: (key, origin) => {
      // Set by `getOwn`; undefined for a reload in the background.
      const network = origin === undefined ? undefined : () => context.networkOf(origin as RequestOrigin);
      return chain(load(key, network), (result) => toEntry(key, result));
    },
  };
}
