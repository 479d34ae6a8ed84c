import { defaultApp } from "../src/options.ts";
import type { StandIn } from "../src/stand-in.ts";
import { bulk, productById, productsUpdatedSince } from "./documents.ts";

export interface QueryResult {
  readonly status: number;
  readonly headers: Headers;
  readonly data: unknown;
  readonly errors: unknown;
  readonly cost: Cost;
}

interface Cost {
  readonly requestedQueryCost: number;
  readonly actualQueryCost: number | null;
  readonly throttleStatus: {
    readonly maximumAvailable: number;
    readonly restoreRate: number;
    readonly currentlyAvailable: number;
  };
}

/** The value at a path of names and indexes; undefined if any part of the path is missing. */
export function dig(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((at, name) => {
    return typeof at === "object" && at !== null ? (at as Readonly<Record<string, unknown>>)[name] : undefined;
  }, value);
}

export function digText(value: unknown, path: string): string {
  const found = dig(value, path);
  if (typeof found !== "string") throw new Error(`no text at ${path}, but ${JSON.stringify(found)}`);
  return found;
}

export function digList(value: unknown, path: string): readonly unknown[] {
  const found = dig(value, path);
  if (!Array.isArray(found)) throw new Error(`no list at ${path}, but ${JSON.stringify(found)}`);
  return found;
}

export function productGid(id: string): string {
  return `gid://shopify/Product/${id}`;
}

export interface QueryOptions {
  readonly operationName?: string;
  readonly token?: string;
  readonly version?: string;
}

export async function sendQuery(
  platform: StandIn,
  query: string,
  variables: object = {},
  { operationName, token = defaultApp.token, version }: QueryOptions = {},
): Promise<QueryResult> {
  const response = await fetch(platform.graphqlUrl(version), {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Shopify-Access-Token": token },
    body: JSON.stringify({ query, variables, operationName }),
  });
  const body: unknown = await response.json();
  return {
    status: response.status,
    headers: response.headers,
    data: dig(body, "data"),
    errors: dig(body, "errors"),
    cost: dig(body, "extensions.cost") as Cost,
  };
}

export function queryProduct(platform: StandIn, id: string, variables: object = {}): Promise<QueryResult> {
  return sendQuery(platform, productById, { id: productGid(id), ...variables });
}

/** Starts a run and answers its payload. */
export async function startRun(platform: StandIn, query: string): Promise<unknown> {
  const { data } = await sendQuery(platform, bulk, { query }, { operationName: "BulkProductsRun" });
  return dig(data, "bulkOperationRunQuery");
}

export async function readRun(platform: StandIn, id: string): Promise<unknown> {
  const { data } = await sendQuery(platform, bulk, { id }, { operationName: "BulkOperationById" });
  return dig(data, "bulkOperation");
}

/** Waits for the end of a run, however it ends. */
export async function finishRun(platform: StandIn, query: string): Promise<unknown> {
  const id = digText(await startRun(platform, query), "bulkOperation.id");
  for (;;) {
    const run = await readRun(platform, id);
    if (!["CREATED", "RUNNING", "CANCELING"].includes(digText(run, "status"))) return run;
    await Bun.sleep(5);
  }
}

export async function readLines(url: string): Promise<unknown[]> {
  const text = await (await fetch(url)).text();
  return text
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
}

/** Follows the list at a path to its end; the query takes `$after`. @returns every node */
export async function walk(platform: StandIn, query: string, path: string, variables: object = {}): Promise<unknown[]> {
  const nodes: unknown[] = [];
  for (let after: unknown = null; ; ) {
    const { data } = await sendQuery(platform, query, { ...variables, after });
    nodes.push(...digList(data, `${path}.nodes`));
    if (dig(data, `${path}.pageInfo.hasNextPage`) !== true) return nodes;
    after = dig(data, `${path}.pageInfo.endCursor`);
  }
}

export const walkProducts = (platform: StandIn, search: string, first = 250) =>
  walk(platform, productsUpdatedSince, "products", { query: search, first });
