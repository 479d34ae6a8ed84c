import type { CacheEntry, CacheNamespace } from "../cache/namespace.ts";
import { HeaderTemplate, ResponseBody, varyByEncoding } from "../cache/response.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { Handler, Routes } from "../http/endpoint.ts";
import { chain } from "../maybe-promise.ts";
import { cacheHeaders } from "../model/cache-policy.ts";
import { type Cdn, cdns, toPurgeTags } from "../model/cdn.ts";
import type { Operation, OperationContext, OperationResult } from "./operation.ts";

/** An operation's routes, served through the cache. */
export function operationRoutes(operation: Operation, cache: ResponseCache, context: OperationContext): Routes {
  const namespace = toNamespace(operation, context);
  const { parseKey } = operation;
  const get: Handler = (request, _, nowMs, origin) => cache.get(namespace, parseKey(request), nowMs, origin);
  const toFailure = operation.createFailureResponse?.(context);
  const route = { get, ...(toFailure !== undefined && { toFailure }) };
  return Object.fromEntries(operation.routes.map(({ path }) => [path, route]));
}

function toNamespace(operation: Operation, context: OperationContext): CacheNamespace {
  const { name } = operation;
  const cdn: Cdn | undefined = cdns[context.config.cdn];
  const policy = operation.cachePolicy(context.config);
  const lifetime = operation.lifetime(policy, context.config);
  const toTemplate = (isPurgeable: boolean) =>
    new HeaderTemplate("application/json", { ...cacheHeaders(policy, cdn, isPurgeable), ...varyByEncoding });
  const [purgeable, unpurgeable] = [toTemplate(true), toTemplate(false)];
  const load = operation.createLoader(context);
  const toEntry = (key: string, result: OperationResult | undefined): CacheEntry => {
    if (result === undefined) return { body: undefined, isEmpty: true };
    const { body, tag, isEmpty = false, fingerprints } = result;
    // Only recorded changes say which key to purge.
    const tags = lifetime.isInvalidated ? [name, `${name}-${percentEncode(key)}`] : [name];
    const purgeTags = cdn && toPurgeTags(tags, cdn);
    const template = cdn === undefined || purgeTags !== undefined ? purgeable : unpurgeable;
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

/** All but letters, digits, and `-._~` (RFC 3986). Akamai ignores tags with parentheses or `*`. */
const percentEncode = (text: string) =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
