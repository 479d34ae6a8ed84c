import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { Contender } from "./contenders.ts";
import { hashOf, type Target } from "./load.ts";

/** Kind of request: plain, conditional, or compressed. */
export type RequestKind = "200" | "304" | "gzip" | "br";

/** An operation with its request paths and the expected body of each. */
export interface Operation {
  readonly name: "personalization" | "product" | "histories";
  readonly bodies: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

interface BufferedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

async function send(url: string, path: string, headers: Record<string, string> = {}): Promise<BufferedResponse> {
  const response = await fetch(`${url}${path}`, {
    headers: { "Accept-Encoding": "identity", ...headers },
    decompress: false,
  });
  return { status: response.status, headers: response.headers, body: new Uint8Array(await response.arrayBuffer()) };
}

/** Maps all values with limited concurrency. @returns the results in order */
async function mapAll<Value, Result>(values: readonly Value[], work: (value: Value) => Promise<Result>) {
  const results: Result[] = [];
  for (let start = 0; start < values.length; start += 16) {
    results.push(...(await Promise.all(values.slice(start, start + 16).map(work))));
  }
  return results;
}

/** Reads the responses of the service, which all other servers must match. */
export async function readBodies(url: string, paths: readonly string[]): Promise<Operation["bodies"]> {
  const responses = await mapAll(paths, (path) => send(url, path));
  const wrong = responses.find(({ status }) => status !== 200);
  if (wrong !== undefined) throw new Error(`the service returned status ${wrong.status}`);
  return new Map(responses.map(({ body }, index) => [paths[index] ?? "", body]));
}

/**
 * Builds the requests for a contender and verifies every response first.
 * @returns undefined if the contender does not support this kind of request
 * @throws Error if a response is wrong
 */
export async function findTargets(
  contender: Contender,
  { bodies }: Operation,
  kind: RequestKind,
): Promise<Target[] | undefined> {
  // This first pass also fills the caches.
  const responses = await verify(contender, bodies);
  const targets = await mapAll(responses, async ({ response, path }) =>
    kind === "200" ? { path, hash: hashOf(response.body) } : await variantTarget(contender, path, kind, response),
  );
  return targets.includes(undefined) ? undefined : targets.filter((target) => target !== undefined);
}

/**
 * Requests every path of a contender.
 * @throws Error if a response is wrong
 */
export function verify(
  contender: Contender,
  bodies: Operation["bodies"],
): Promise<{ response: BufferedResponse; path: string }[]> {
  return mapAll([...bodies], async ([path, expected]) => {
    const response = await send(contender.url, path);
    if (response.status !== 200 || !isSame(contender, response.body, expected)) {
      throw new Error(`${contender.name} returns other bytes for ${path}`);
    }
    return { response, path };
  });
}

/** Express serializes parsed JSON again, so its bytes may differ. */
function isSame({ name }: Contender, body: Uint8Array, expected: Uint8Array): boolean {
  if (Buffer.compare(body, expected) === 0) return true;
  if (name !== "express") return false;
  const [one, other] = [body, expected].map((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  return Bun.deepEquals(one, other, true);
}

async function variantTarget(
  { url, name }: Contender,
  path: string,
  kind: Exclude<RequestKind, "200">,
  { headers: known, body: expected }: BufferedResponse,
): Promise<Target | undefined> {
  const tag = known.get("ETag");
  if (kind === "304" && tag === null) return undefined;
  const headers: Record<string, string> = kind === "304" ? { "If-None-Match": tag ?? "" } : { "Accept-Encoding": kind };
  const { status, headers: told, body } = await send(url, path, headers);
  if (kind === "304") return status === 304 ? { path, headers } : undefined;
  if (status !== 200 || told.get("Content-Encoding") !== kind) return undefined;
  const plain = kind === "gzip" ? gunzipSync(body) : brotliDecompressSync(body);
  if (Buffer.compare(plain, expected) !== 0) throw new Error(`${name} returns other bytes for ${path} in ${kind}`);
  return { path, headers };
}
