import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { Contender } from "./contenders.ts";
import { hashOf, type Target } from "./load.ts";

/** How an answer is asked for: as it is, when the client has it already, or compressed. */
export type Ask = "200" | "304" | "gzip" | "br";

/** An operation with the paths that are asked for, and what each must answer. */
export interface Operation {
  readonly name: "personalization" | "product" | "histories";
  readonly bodies: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

async function ask(url: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    headers: { "Accept-Encoding": "identity", ...headers },
    decompress: false,
  });
  return { status: response.status, headers: response.headers, body: new Uint8Array(await response.arrayBuffer()) };
}

/** Does the work for all values, some at a time. @returns what it gives, in order */
async function forAll<Value, Result>(values: readonly Value[], work: (value: Value) => Promise<Result>) {
  const results: Result[] = [];
  for (let start = 0; start < values.length; start += 16) {
    results.push(...(await Promise.all(values.slice(start, start + 16).map(work))));
  }
  return results;
}

/** What the service answers, which everyone else is to answer too. */
export async function readBodies(url: string, paths: readonly string[]): Promise<Operation["bodies"]> {
  const answers = await forAll(paths, (path) => ask(url, path));
  const wrong = answers.find(({ status }) => status !== 200);
  if (wrong !== undefined) throw new Error(`the service answered ${wrong.status}`);
  return new Map(answers.map(({ body }, index) => [paths[index] ?? "", body]));
}

/**
 * What to ask a contender for, once every answer was seen to be right.
 * @returns undefined when it does not answer like that
 * @throws Error when an answer is wrong
 */
export async function findTargets(
  contender: Contender,
  { bodies }: Operation,
  how: Ask,
): Promise<Target[] | undefined> {
  const paths = [...bodies.keys()];
  // Whoever remembers has something to remember now.
  const answers = await forAll(paths, (path) => ask(contender.url, path));
  const targets = await forAll(
    answers.map((answer, index) => ({ answer, path: paths[index] ?? "" })),
    async ({ answer, path }) => {
      const expected = bodies.get(path) ?? new Uint8Array();
      if (answer.status !== 200 || !isSame(contender, answer.body, expected)) {
        throw new Error(`${contender.name} answers ${path} with other bytes`);
      }
      return how === "200" ? { path, hash: hashOf(answer.body) } : await otherTarget(contender, path, how, answer);
    },
  );
  return targets.includes(undefined) ? undefined : targets.filter((target) => target !== undefined);
}

/** Express prints anew what it has parsed. */
function isSame({ name }: Contender, body: Uint8Array, expected: Uint8Array): boolean {
  if (Buffer.compare(body, expected) === 0) return true;
  if (name !== "express") return false;
  const [one, other] = [body, expected].map((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  return Bun.deepEquals(one, other, true);
}

async function otherTarget(
  { url, name }: Contender,
  path: string,
  how: Exclude<Ask, "200">,
  { headers: known, body: expected }: Answer,
): Promise<Target | undefined> {
  const tag = known.get("ETag");
  if (how === "304" && tag === null) return undefined;
  const headers: Record<string, string> = how === "304" ? { "If-None-Match": tag ?? "" } : { "Accept-Encoding": how };
  const { status, headers: told, body } = await ask(url, path, headers);
  if (how === "304") return status === 304 ? { path, headers } : undefined;
  if (status !== 200 || told.get("Content-Encoding") !== how) return undefined;
  const plain = how === "gzip" ? gunzipSync(body) : brotliDecompressSync(body);
  if (Buffer.compare(plain, expected) !== 0) throw new Error(`${name} answers ${path} with other bytes in ${how}`);
  return { path, headers };
}
