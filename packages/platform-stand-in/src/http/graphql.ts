import type { App } from "../access.ts";
import type { Components } from "../components.ts";
import { increase } from "../counters.ts";
import type { FaultEffect } from "../faults.ts";
import type { RequestContext } from "../graphql/context.ts";
import type { Operation } from "../graphql/documents.ts";
import { internalError } from "../graphql/errors.ts";
import type { GraphqlResponse } from "../graphql/executor.ts";
import { isObject, type JsonObject, parseObject } from "../json.ts";
import { json, respondWithFaults } from "./responses.ts";

interface GraphqlBody {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: JsonObject;
}

const tokenHeader = "X-Shopify-Access-Token";

/** Handles a POST to the GraphQL endpoint. */
export async function handleGraphql(
  components: Components,
  request: Request,
  version: string,
  requestId: string,
): Promise<Response> {
  const body = readBody(await request.text());
  if (body === undefined) return json(400, { errors: { query: "Required parameter missing or invalid" } });
  const prepared = components.executor.prepare(body.query, body.operationName);
  const operation = "operation" in prepared ? prepared.operation : undefined;
  const name = body.operationName ?? (operation?.name || "anonymous");
  increase(components.counters.requests, name);

  const { latencyMs } = components.settings;
  return await respondWithFaults(components.faults.trigger(name), request, latencyMs, async (effect) => {
    const token = request.headers.get(tokenHeader);
    if (effect?.kind === "tokenExpired" && token !== null) components.access.revoke(token);
    const app = components.access.findApp(token);
    if (app === undefined) return rejectToken();

    const answer: GraphqlResponse =
      effect?.kind === "internalError"
        ? { errors: [internalError(requestId)] }
        : "errors" in prepared
          ? { errors: prepared.errors }
          : await execute(components, app, prepared.operation, body, effect);
    const answered = effect?.kind === "fallForward" ? effect.version : version;
    return json(200, answer, { "X-Shopify-API-Version": answered });
  });
}

function execute(
  components: Components,
  app: App,
  operation: Operation,
  { variables }: GraphqlBody,
  effect: FaultEffect | undefined,
): Promise<GraphqlResponse> {
  const { catalog, bulk, counters, lag, subscriptions } = components;
  if (effect?.kind === "changeBetweenPages") editProductOf(components, variables.id);
  const context: RequestContext = {
    appName: app.name,
    scopes: app.scopes,
    shop: components.settings.shop,
    catalog,
    bulk,
    counters,
    subscriptions,
    readsAtMs: lag.chooseTime(),
    listsAtMs: lag.isOfLists ? lag.chooseTime() : undefined,
    bulkFault: () => components.faults.triggerForBulkRun(operation.name || "anonymous"),
  };
  const throttle = effect?.kind === "throttled" ? { available: effect.available } : undefined;
  return components.executor.run({ operation, variables, bucket: app.bucket, context, throttle });
}

/** Edits the product of the request, or the product of its variant. */
function editProductOf({ catalog }: Components, gid: unknown): void {
  const [, kind, id] = /^gid:\/\/shopify\/(Product|ProductVariant)\/(\d+)$/.exec(String(gid)) ?? [];
  if (id === undefined) return;
  const product = kind === "Product" ? catalog.findProduct(id) : catalog.findVariant(id)?.product;
  if (product !== undefined) catalog.touch(product.legacyResourceId);
}

function rejectToken(): Response {
  return json(401, {
    errors: "[API] Invalid API key or access token (unrecognized login or wrong password)",
  });
}

function readBody(text: string): GraphqlBody | undefined {
  const read = parseObject(text);
  if (typeof read?.query !== "string") return undefined;
  const { query, operationName, variables } = read;
  return {
    query,
    operationName: typeof operationName === "string" && operationName !== "" ? operationName : undefined,
    variables: isObject(variables) ? variables : {},
  };
}
