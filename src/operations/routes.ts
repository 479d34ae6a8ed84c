import type { CacheEntry, CacheNamespace } from "../cache/namespace.ts";
import { HeaderTemplate, ResponseBody, varyByEncoding } from "../cache/response.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { FailureResponse, Handler, Routes } from "../http/endpoint.ts";
import { toProblem } from "../http/errors.ts";
import { chain } from "../maybe-promise.ts";
import { type CachePolicy, cacheHeaders, withCdnLifetime } from "../model/cache-policy.ts";
import { type Cdn, cdns, fingerprintTag, keyTag, toPurgeTags } from "../model/cdn.ts";
import type { Operation, OperationContext, OperationResult } from "./operation.ts";

/** An operation's routes, served through the cache. */
export function operationRoutes(operation: Operation, cache: ResponseCache, context: OperationContext): Routes {
  const namespace = toNamespace(operation, context);
  const { parseKey } = operation;
  const get: Handler = (request, _, nowMs, origin) => cache.get(namespace, parseKey(request), nowMs, origin);
  const toFailure = tagMissing(operation, context);
  return Object.fromEntries(operation.routes.map(({ path }) => [path, { get, toFailure }]));
}

/** A missing object may be added at any time, which purges the response that says so. */
function tagMissing({ name, parseKey, createFailureResponse }: Operation, context: OperationContext): FailureResponse {
  const cdn: Cdn | undefined = cdns[context.config.cdn];
  const toFailure = createFailureResponse?.(context) ?? toProblem;
  return (failure, requestId, request) => {
    const parts = toFailure(failure, requestId, request);
    const tags = cdn && failure.status === 404 ? toPurgeTags([name, keyTag(name, parseKey(request))], cdn) : undefined;
    return tags === undefined ? parts : { ...parts, headers: { ...parts.headers, [tags.field]: tags.value } };
  };
}

function toNamespace(operation: Operation, context: OperationContext): CacheNamespace {
  const { name } = operation;
  const cdn: Cdn | undefined = cdns[context.config.cdn];
  const { purge, cacheNotFound } = context.config;
  const configured = operation.cachePolicy(context.config);
  const lifetime = operation.lifetime(configured, context.config);
  const policy = purge && lifetime.isInvalidated ? withCdnLifetime(configured, purge.max_age) : configured;
  const toTemplate = (ofPolicy: CachePolicy, isPurgeable: boolean) =>
    new HeaderTemplate("application/json", { ...cacheHeaders(ofPolicy, cdn, isPurgeable), ...varyByEncoding });
  const [purgeable, unpurgeable] = [toTemplate(policy, true), toTemplate(policy, false)];
  const [emptyPurgeable, emptyUnpurgeable] = [toTemplate(cacheNotFound, true), toTemplate(cacheNotFound, false)];
  const load = operation.createLoader(context);
  // Only recorded changes say which key to purge.
  const tagsOf = (key: string, fingerprints: readonly number[] = []) =>
    lifetime.isInvalidated ? [name, keyTag(name, key), ...fingerprints.map(fingerprintTag)] : [name];
  const toEntry = (key: string, result: OperationResult | undefined): CacheEntry => {
    if (result === undefined) return { body: undefined, isEmpty: true };
    const { body, tag, isEmpty = false, fingerprints } = result;
    const purgeTags = cdn && toPurgeTags(tagsOf(key, fingerprints), cdn);
    const canPurge = cdn === undefined || purgeTags !== undefined;
    const template = isEmpty ? (canPurge ? emptyPurgeable : emptyUnpurgeable) : canPurge ? purgeable : unpurgeable;
    const responseBody = new ResponseBody({ template, body, tag, purgeTags });
    return { body: responseBody, isEmpty, ...(fingerprints !== undefined && { fingerprints }) };
  };
  return {
    name,
    ...lifetime,
    load: (key, origin) => {
      // The cache passes on what `get` above gave it, which is not always there.
      const network = origin === undefined ? undefined : () => context.networkOf(origin as RequestOrigin);
      return chain(load(key, network), (result) => toEntry(key, result));
    },
  };
}
