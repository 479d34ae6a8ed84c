import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { parseJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles } from "../support/feed.ts";
import { fillStore } from "../support/import-here.ts";
import { problemsOf, type Schema, type Schemas } from "../support/json-schema.ts";
import { createStore, isCampaign } from "../support/pds.ts";
import { rawRequests } from "../support/raw-requests.ts";
import {
  canSeeProcesses,
  openFiles,
  residentBytes,
  type ServiceProcess,
  startService,
} from "../support/service-process.ts";
import { until } from "../support/until.ts";
import { parseResponse, Wire, type WireResponse } from "../support/wire.ts";

// Valid requests with unusual values, and malformed ones as an attacker might send them.

/** Number of requests, two thirds of them valid; a full campaign sets more. */
const requests = Number(process.env.FUZZ_REQUESTS ?? 3000);
const validRequests = Math.ceil((requests * 2) / 3);
setDefaultTimeout(60_000 + requests * 10);
/** Upper limit of the service's memory, which starts below 100. */
const maxMegabytes = 400;

const ids = ["9007199254740993", "9223372036854775807", "1", "77"] as const;

interface Documented {
  readonly headers?: Readonly<Record<string, { readonly required: boolean }>>;
  readonly content?: Readonly<Record<string, { schema: Schema }>>;
}

interface Operation {
  readonly pattern: RegExp;
  readonly template: string;
  readonly responses: Readonly<Record<string, Documented>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, { readonly get: { readonly responses: Operation["responses"] } }>>;
  readonly components: { readonly schemas: Schemas };
}

let service: ServiceProcess;
let operations: readonly Operation[] = [];
let schemas: Schemas = {};

const environment = {
  // PostgreSQL, because it does not accept every text.
  DATABASE_URL: await createStore("postgres"),
  SHOP_DOMAIN: "shop.example",
  MEMORY_MEGABYTES: "8",
  LOG_LEVEL: "error",
};

beforeAll(async () => {
  const products = ids.slice(0, 3).map((id) => toProduct(BigInt(id)));
  const files = { ...feedFiles, "pzlines.csv": `${feedFiles["pzlines.csv"]}ä😀,NOTE,1,A\n..,NOTE,1,A\n` };
  await fillStore(environment, products, files);
  service = await startService(environment);
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApi;
  schemas = document.components.schemas;
  // A path without parameters is also of the pattern of another one.
  const paths = Object.entries(document.paths).toSorted(
    ([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")),
  );
  operations = paths.map(([template, { get }]) => ({
    template,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, "[^/?#]+")}$`),
    responses: get.responses,
  }));
});

// Valid requests

/** Choices with their weights; of a list, any of its texts. */
const chance = (...choices: readonly (readonly [number, fc.Arbitrary<string> | readonly string[]])[]) =>
  fc.oneof(...choices.map(([weight, of]) => ({ weight, arbitrary: "length" in of ? fc.constantFrom(...of) : of })));
const joined = (...parts: readonly fc.Arbitrary<string>[]) => fc.tuple(...parts).map((texts) => texts.join(""));
/** Words of a text, between spaces and line ends. */
const words = (text: string) => text.trim().split(/\s+/);
/** Texts that may have spaces, between bars. */
const texts = (text: string) => text.trim().split(/ \|\s+/);

const edges = [
  ...words(`
    0 -1 +1 01 1.0 1e3 0x10 1_000 NaN null undefined __proto__ constructor toString ١٢٣ １２３
    9223372036854775806 9223372036854775808 9223372036854775817 9007199254740992
    18446744073709551615 18446744073709551616
  `),
  ...[" 1", "9".repeat(19), "9".repeat(40), "1".repeat(4000)],
];
const hostile = [
  ...words(String.raw`
    .. . ... ..%2f..%2fetc%2fpasswd %2e%2e %00 %0d%0aX-Injected:%201 % %z %zz %1 %c0%af %ff %ed%a0%80
    %f4%90%80%80 %EF%BF%BD %EF%BF%BD%zz %25 %2525 %2F %5C \\ ' <script> {{7*7}} $%7B1} $1 :id * a* MUG%20
    mug M%55G + a+b ;v=1 a;b=c a,b @ ~ | a%09b %7F %E2%80%AE A%2FB%20%C3%A9%2B %C3%A4%F0%9F%98%80
  `),
  ...["' OR 1=1 --", '";DROP TABLE product', "x".repeat(900), "%F0%9F%98%80".repeat(300), "y".repeat(7000)],
];
const known = ["MUG", ...ids, "asc", "desc", "ASC", "desc%20", "unknown"];

/** Percent-encodes a text for a request's target. */
const encoded = (text: string) =>
  encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
/** Percent-encodes only the characters that cannot be sent. */
const sendable = (text: string) => text.replace(/[^\x21-\x7e]|[#?]/gu, encoded);

const value = chance(
  [4, known],
  [3, edges.map(sendable)],
  [3, hostile.map(sendable)],
  [2, fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).map(encoded)],
  [1, fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 20 }).map(sendable)],
  [1, fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }).map(String)],
  [1, fc.stringMatching(/^(%[0-9a-fA-F]{0,2}){1,6}$/)],
);
const locale = fc.constantFrom(...words("en EN fr fr-CA en_US e %zz toolongforalanguage"));
const base = chance(
  [
    4,
    words(`
      /api/v1/products/ /api/v1/products/pz/ /api/v1/products/handle/ /api/v1/products/handle/plate- /api/v1/histories/
    `),
  ],
  [1, locale.map((name) => `/api/v1/products/form/${name}/`)],
);
const batch = fc.array(value, { minLength: 1, maxLength: 60 }).map((skus) => skus.map((sku) => `sku=${sku}`).join("&"));
const path = chance(
  [8, joined(base, value)],
  [1, batch.map((query) => `/api/v1/products/pz?${query}`)],
  [1, words("/api/v1/histories /openapi.json /docs /docs/style.css /livez /readyz /")],
  [
    1,
    words(`
      // //api/v1/histories /api//v1/histories /api/v1/histories/ /api/v1/products//
      /api/v1/products/pz/ /api/v1/products/pz /api/v1/products/pz//MUG /api/v1/./histories
      /api/v1/products/../histories /api/v1/x/../../v1/histories /API/V1/histories
      /api/v1/%68istories /api%2Fv1%2Fhistories /metrics /favicon.ico /.git/config
      /..%5c..%5cwindows /api/v1/products/1/2 /api/v1/histories/asc/ /% /%00 /docs/ /docs/..
      /openapi.json/ /api/v1/products/:id /*
    `),
  ],
  [1, fc.array(value, { minLength: 1, maxLength: 6 }).map((parts) => `/${parts.join("/")}`)],
);
const query = chance(
  [5, [""]],
  [2, words(`? ?x=1 ?id=1&id=2 ?%zz ?a[b]=c ?? ?${"q".repeat(3000)} ?x=%00&y=%0d%0a ?callback=alert(1)`)],
  [1, value.map((text) => `?v=${text}`)],
);

/** A valid value of a header field. */
const fieldValue = fc.stringMatching(/^[\x21-\x7e\x80-\xff]([\x20-\x7e\x80-\xff]{0,40}[\x21-\x7e\x80-\xff])?$/);
const coding = chance([9, words("br gzip zstd deflate identity * x-gzip GZIP compress")], [1, [""]]);
const qvalue = chance([6, words(";q=1 ;q=0 ;q=0.5 ;q=2 ;q=x ;q=")], [2, ["", "; q=0.001"]]);
const codings = fc.array(joined(coding, qvalue), { maxLength: 5 }).map((all) => all.join(", "));
const headers: Readonly<Record<string, fc.Arbitrary<string>>> = {
  "Accept-Encoding": chance(
    [4, codings],
    [1, ["a,".repeat(3000), "br;q=0.1,".repeat(20), " ,".repeat(90), ";".repeat(2000)]],
  ),
  "If-None-Match": chance(
    [1, [" * ", 'W/"x", "y"', '"'.repeat(300), `"${"t".repeat(3000)}"`, '"",'.repeat(2000)]],
    [1, words('* "x" x " W/" "a","b",')],
    [1, fieldValue],
  ),
  "X-Request-Id": chance(
    [2, fc.stringMatching(/^[\w.:=+/@-]{1,128}$/)],
    [1, ["a b", '"><script>', "x".repeat(129), "é", "{}", ""]],
    [1, fieldValue],
  ),
  "X-Forwarded-For": chance(
    [1, fc.ipV4()],
    [1, fc.ipV6()],
    [1, ["unknown", "1.2.3.4, , 5.6.7.8", "::ffff:1.2.3.4", "1.2.3.4:80", ",".repeat(500), "[::1]"]],
    [1, fieldValue],
  ),
  traceparent: chance(
    [1, words("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 00-0-0-0 ff-x")],
    [1, fieldValue],
  ),
  Range: fc.constantFrom(...words("bytes=0-0 bytes=-1 bytes=5-2 bytes=0-0,1-1 items=1 bytes=99999999999999999999- x")),
  "If-Range": fc.constantFrom('"x"', "x"),
  "If-Match": fc.constantFrom("*", '"x"'),
  "If-Modified-Since": fc.constantFrom("Thu, 01 Jan 1970 00:00:00 GMT", "never", "Fri, 31 Dec 9999 23:59:59 GMT"),
  Accept: fc.constantFrom("*/*", "text/html", "application/xml;q=1", "", "application/json;version=2"),
  Authorization: chance([1, fieldValue.map((text) => `Bearer ${text}`)], [1, ["Basic !!!", "Basic", "Digest x=1"]]),
  Cookie: fieldValue,
  Origin: fc.constantFrom("null", "https://evil.example", "x"),
  "Access-Control-Request-Headers": fieldValue,
  "Content-Type": fc.constantFrom("application/json", "multipart/form-data; boundary=x", "x"),
  "X-HTTP-Method-Override": fc.constantFrom("DELETE", "PUT"),
  "X-Original-URL": fc.constantFrom("/metrics", "/api/v1/histories"),
  Forwarded: fieldValue,
  "X-Long": fc.integer({ min: 100, max: 6000 }).map((length) => "l".repeat(length)),
};
const field = fc
  .constantFrom(...Object.keys(headers))
  .chain((name) => fc.tuple(fc.constant(name), headers[name] as fc.Arbitrary<string>));
/** Header fields as usual, in another case, and some of them twice. */
const fields = fc
  .array(fc.tuple(field, fc.constantFrom("as is", "as is", "as is", "lower", "upper", "twice")), { maxLength: 5 })
  .map((all) =>
    all.flatMap(([[name, text], how]) => {
      const named = how === "lower" ? name.toLowerCase() : how === "upper" ? name.toUpperCase() : name;
      return Array<string>(how === "twice" ? 2 : 1).fill(`${named}: ${text}`);
    }),
  );

const methods = words("GET GET GET GET GET HEAD HEAD OPTIONS POST PUT PATCH DELETE");

const goodHosts = ["shop.example", "shop.example:3000", "SHOP.example.", "127.0.0.1", "[::1]:80", "a_b"];
/** The runtime passes them on, and the service refuses them; a comma stands for two fields. */
const badHosts = ["", "a b", ...words("a/b?c#d [::1 user:pw@x:80 x:y % <> a.example,b.example x,x")];

interface ValidRequest {
  readonly method: string;
  readonly host: string;
  readonly target: string;
  readonly fields: readonly string[];
  readonly body: "none" | "length" | "chunked";
}

const plain = { method: "GET", host: "shop.example", fields: [], body: "none" } as const;

const validRequest = fc
  .record<ValidRequest>({
    method: fc.constantFrom(...methods),
    host: chance([20, goodHosts], [1, badHosts]),
    target: joined(path, query),
    fields,
    body: fc.constantFrom("none", "none", "none", "length", "chunked"),
  })
  // Beyond 16 KB the runtime refuses to read on.
  .filter((requested) => textOf(requested).length < 14_000);

function textOf({ method, host, target, fields: lines, body }: ValidRequest): string {
  const end = {
    none: "\r\n",
    length: "Content-Length: 11\r\n\r\nhello=world",
    chunked: "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n=world\r\n0\r\n\r\n",
  }[method === "GET" || method === "HEAD" ? "none" : body];
  const hosts = host.split(",").map((name) => `Host: ${name}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${hosts.join("")}${lines.map((line) => `${line}\r\n`).join("")}${end}`;
}

// Responses

/** Header fields of the runtime and of every response, which operations do not document. */
const commonHeaders = new Set(
  words(`
    date content-length content-type content-encoding connection x-content-type-options
    access-control-allow-origin access-control-expose-headers vary
  `),
);
const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
};
const undocumented = new Set<string>();

/** @returns what is wrong with a response of our own code */
function problemsOfResponse({ method, host, target, fields: lines }: ValidRequest, response: WireResponse): string[] {
  const problems: string[] = [];
  const { status, headers: got, body } = response;
  const requestId = got.get("x-request-id");
  if (requestId === undefined && status >= 400) problems.push("no X-Request-Id");
  const valuesOf = (name: string) =>
    lines.filter((line) => line.toLowerCase().startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim());
  if (requestId !== undefined) {
    if (valuesOf("x-request-id").includes(requestId)) problems.push("the caller's X-Request-Id");
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}$/.test(requestId)) problems.push(`X-Request-Id ${requestId}`);
  }
  if (response.repeated.length > 0) problems.push(`repeated ${response.repeated}`);
  if (response.isUnbounded) problems.push("no Content-Length");
  if (got.has("x-injected")) problems.push("an injected header");
  if (status >= 500) problems.push(`status ${status}`);
  if (status === 204 && method !== "OPTIONS") problems.push("204");
  if (status === 206 || (status >= 300 && ![302, 304].includes(status) && status < 400))
    problems.push(`status ${status}`);
  if (status === 302 && !target.startsWith("/api/v1/products/form/")) problems.push("302 unasked");
  if (status === 304 && (!got.has("etag") || valuesOf("if-none-match").length === 0)) problems.push("304 unasked");
  if (badHosts.includes(host)) {
    if (status !== 400 || got.get("cache-control") !== "no-store") problems.push(`${status} for the host ${host}`);
    if (method === "HEAD") return problems;
    return [...problems, ...problemsOfBody(body, undefined, response)];
  }
  const reads = method === "GET" || method === "HEAD";
  if (!reads) {
    if (status !== (method === "OPTIONS" ? 204 : 405)) problems.push(`${method} gets ${status}`);
    if (got.get("allow") !== "GET, HEAD, OPTIONS") problems.push("no Allow");
  }
  const decoder = decoders[got.get("content-encoding") ?? ""];
  const varies = got.get("vary")?.split(", ").includes("Accept-Encoding");
  if (got.has("content-encoding") && (decoder === undefined || varies !== true)) problems.push("coding");
  const [operation] = reads && !target.includes("/.") ? operationsOf(target) : [];
  if (operation !== undefined) problems.push(...compareHeaders(operation, response));
  const right = operation && expectedStatus(operation, target);
  if (status === 412 && valuesOf("if-match").length === 0) problems.push("412 unasked");
  if (right !== undefined && ![right, 412, 429].includes(status) && !(status === 304 && right === 200)) {
    problems.push(`${status} instead of ${right}`);
  }
  if (status === 204 || status === 302 || status === 304) return problems;
  if (method === "HEAD") return /^\d+$/.test(got.get("content-length") ?? "") ? problems : [...problems, "no length"];
  try {
    const plain = decoder === undefined ? body : decoder(body);
    return [...problems, ...problemsOfBody(plain, operation, response)];
  } catch (error) {
    return [...problems, `a body that cannot be read: ${(error as Error).message}`];
  }
}

/** The expected status for a path; undefined when a long URL makes it depend on a limit. */
function expectedStatus({ template }: Operation, target: string): number | undefined {
  if (target.length > 8192) return undefined;
  const [path = ""] = target.split("?", 1);
  const query = target.slice(path.length + 1);
  let names: string[];
  let skus: string[];
  try {
    names = path.split("/").map(decodeURIComponent);
    const parameters = template.endsWith("/pz") ? query.split("&").filter((part) => part.startsWith("sku=")) : [];
    skus = parameters.map((part) => decodeURIComponent(part.slice("sku=".length)));
  } catch {
    return 400;
  }
  const name = names.at(-1) ?? "";
  const isAllowed = isAllowedIn[template.split("/").at(-1) ?? ""];
  if (template.endsWith("/pz")) return skus.length > 0 && !skus.includes("") && new Set(skus).size <= 50 ? 200 : 400;
  if (template.endsWith("{locale}/{sku}")) return expectedOfLocale(names.at(-2) ?? "");
  if (isAllowed === undefined) return 200;
  if (!isAllowed(name)) return 400;
  if (template.endsWith("{order}")) return 200;
  return ids.slice(0, 3).some((id) => name === (template.endsWith("{id}") ? id : `plate-${id}`)) ? 200 : 404;
}

/** What each parameter may be. */
const isAllowedIn: Readonly<Record<string, (name: string) => boolean>> = {
  "{order}": (name) => name === "asc" || name === "desc",
  "{id}": (name) => /^[1-9]\d{0,18}$/.test(name) && BigInt(name) <= 2n ** 63n - 1n,
  "{handle}": (name) => [...name].length <= 255 && !/\p{Cc}/u.test(name),
};

/** Without a presentation, only the default locale is offered. */
function expectedOfLocale(name: string): number {
  if (!/^[a-z]{2,8}(-[a-z\d]{1,8})*$/i.test(name)) return 400;
  return name.toLowerCase() === "en" ? 200 : 302;
}

const operationsOf = (target: string) => operations.filter(({ pattern }) => pattern.test(target.split("?")[0] ?? ""));

function problemsOfBody(
  body: Buffer,
  operation: Operation | undefined,
  { status, headers: got }: WireResponse,
): string[] {
  const type = got.get("content-type") ?? "";
  const isProblem = type === "application/problem+json";
  if (!isProblem && operation === undefined) return [];
  const parsed = parseJson(body.toString()) as { readonly status?: unknown; readonly request_id?: unknown };
  if (isProblem && (parsed.status !== status || parsed.request_id !== got.get("x-request-id")))
    return ["another problem"];
  const documented = operation?.responses[status];
  if (operation === undefined) return problemsOf(parsed, { $ref: "#/components/schemas/Problem" }, schemas);
  // Another test covers undocumented statuses.
  if (documented === undefined) return [];
  const schema = documented.content?.[type]?.schema;
  return schema === undefined ? [`${operation.template}: ${status} ${type}`] : problemsOf(parsed, schema, schemas);
}

/** Records what is undocumented. @returns the documented header fields that are missing */
function compareHeaders({ template, responses }: Operation, { status, headers: got }: WireResponse): string[] {
  const headers = Object.entries(responses[status]?.headers ?? {});
  const documented = new Set(headers.map(([name]) => name.toLowerCase()));
  const unlisted = [...got.keys()].filter((name) => !commonHeaders.has(name) && !documented.has(name));
  if (responses[status] === undefined) undocumented.add(`${template}: ${status}`);
  for (const name of unlisted) undocumented.add(`${template}: ${status} ${name}`);
  const missing = headers.filter(
    ([name, { required }]) => required && !optional.has(name) && !got.has(name.toLowerCase()),
  );
  return missing.map(([name]) => `no ${name}`);
}

/** Headers of only some responses, although the document requires them. */
const optional = new Set(["Retry-After", "ETag", "Vary"]);

const statuses = new Map<string, number>();
function count(kind: string, status: number): void {
  const key = `${kind} ${status}`;
  statuses.set(key, (statuses.get(key) ?? 0) + 1);
}

/** Prints how many requests a campaign sent, and the statuses that they got. */
function report(sent: number, kind: string): void {
  if (!isCampaign) return;
  const counts = [...statuses].sort().map(([what, times]) => `${what}: ${times}\n`);
  process.stderr.write(`${sent} ${kind} requests\n${counts.join("")}`);
}

/** Pipelines requests on one connection. @returns what is wrong with the responses */
async function sendAll(wire: Wire, requested: readonly ValidRequest[]): Promise<string[]> {
  wire.bytes = Buffer.alloc(0);
  wire.write(requested.map(textOf).join(""));
  const read = (bytes: Buffer) => {
    const responses: WireResponse[] = [];
    for (let at = 0; responses.length < requested.length; ) {
      const response = parseResponse(bytes.subarray(at), requested[responses.length]?.method === "HEAD");
      if (response === undefined) break;
      responses.push(response);
      at += response.size;
    }
    return responses;
  };
  await wire.receive((all) => read(all).length === requested.length, 5000);
  const { bytes, isClosed } = wire;
  const responses = read(bytes);
  // The runtime closes a connection when a request follows one that still waits: send each alone
  // then, which HTTP allows.
  if (isClosed && requested.length > 1 && responses.length < requested.length)
    return await sendOneByOne(requested, wire.url);
  const size = responses.reduce((sum, response) => sum + response.size, 0);
  for (const { status } of responses) count("right", status);
  return [
    ...responses.flatMap((response, index) => problemsOfResponse(requested[index] as ValidRequest, response)),
    ...(responses.length < requested.length
      ? [`${responses.length} responses to ${requested.length} requests${isClosed ? ", closed" : ""}`]
      : []),
    ...(size < bytes.length ? [`${bytes.length - size} bytes too many`] : []),
  ];
}

async function sendOneByOne(requested: readonly ValidRequest[], url: string): Promise<string[]> {
  const problems: string[] = [];
  for (const one of requested) {
    const wire = await Wire.open(url);
    problems.push(...(await sendAll(wire, [one])));
    wire.end();
  }
  return problems;
}

/** Expects that the service still works and has logged nothing. */
async function expectHealthy(): Promise<void> {
  for (const [id, status] of [
    [ids[0], 200],
    [ids[3], 404],
    ["x", 400],
  ] as const) {
    const response = await fetch(`${service.url}/api/v1/products/${id}`);
    expect(response.status).toBe(status);
    expect(Object.keys((await response.json()) as object)).toEqual(["product", "shop", "error"]);
  }
  const response = await (await fetch(`${service.url}/api/v1/products/pz/MUG`)).json();
  expect(response).toMatchObject({ pzlines: [{ sku_id: "MUG" }, { sku_id: "MUG" }] });
  expect(service.process.exitCode).toBeNull();
  expect(service.log()).toBe("");
  if (!canSeeProcesses) return;
  expect(residentBytes(service.pid) / 2 ** 20).toBeLessThan(maxMegabytes);
  await until("the connections are closed", () => openFiles(service.pid) < 60);
}

describe("requests that HTTP allows", () => {
  test("get the right response for every known hostile name, in every place", async () => {
    const wire = await Wire.open(service.url);
    for (const place of ["/api/v1/products/", "/api/v1/products/pz/", "/api/v1/histories/", "/"]) {
      for (const name of [...known, ...edges, ...hostile]) {
        const target = `${place}${sendable(name)}`;
        expect([target, await sendAll(wire, [{ ...plain, target }])]).toEqual([target, []]);
      }
    }
    wire.end();
  });

  test("get the right responses, in their order", async () => {
    let wire = await Wire.open(service.url);
    let sent = 0;
    const property = fc.asyncProperty(fc.array(validRequest, { minLength: 1, maxLength: 3 }), async (requested) => {
      if (wire.isClosed) wire = await Wire.open(service.url);
      sent += requested.length;
      const problems = await sendAll(wire, requested);
      if (problems.length > 0) wire.end();
      expect(problems).toEqual([]);
    });
    while (sent < validRequests) await fc.assert(property, { numRuns: 500 });
    wire.end();
    await expectHealthy();
    report(sent, "valid");
  });

  const parameters = { "{sku}": "MUG", "{order}": "asc", "{id}": "1", "{handle}": "plate-1", "{locale}": "en" };

  test("get only documented responses, with all of their header fields", async () => {
    const targets = operations.map(({ template }) =>
      Object.entries(parameters)
        .reduce((target, [name, value]) => target.replace(name, value), template)
        .replace(/\/pz$/, "/pz?sku=MUG"),
    );
    const limits = { RATE_LIMIT: `${2 * targets.length - 2}`, SERVER_TIMING: "on" };
    const limited = await startService({ ...environment, ...limits });
    const requested = [["If-None-Match: *"], []].flatMap((lines) =>
      targets.map((target): ValidRequest => ({ ...plain, target, fields: lines })),
    );
    const wire = await Wire.open(limited.url);
    const problems: string[] = [];
    for (const one of requested) problems.push(...(await sendAll(wire, [one])));
    wire.end();
    await limited.end("SIGTERM");
    expect(problems).toEqual([]);
    expect(statuses.get("right 304")).toBeGreaterThanOrEqual(4);
    expect(statuses.get("right 429")).toBe(2);
    expect([...undocumented].sort()).toEqual([]);
  });
});

// Malformed requests

const wild = fc.string({ unit: "binary", maxLength: 60 }).map((text) => Buffer.from(text).toString("latin1"));
const octets = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("latin1"));

/** Parts of the requests of the page about malformed requests, which are combined. */
const raw = Object.values(rawRequests)
  .flat()
  .map(({ sent }) => {
    const [head = "", ...rest] = sent.split("\r\n\r\n");
    const [first = "", ...lines] = head.split("\r\n");
    return {
      first,
      fields: lines.filter((line) => line !== "Host: shop.example").join("\r\n"),
      body: rest.join("\r\n\r\n"),
    };
  });
const distinct = (parts: readonly string[]) => [...new Set(parts)].filter((part) => part !== "");

const line = chance(
  [
    6,
    [
      ...distinct(raw.map((part) => part.fields)),
      ...badHosts.map((host) => `Host: ${host}`),
      ...texts(`
        Content-Length: x | Content-Length: 1, 2 | Transfer-Encoding:\tchunked | TE: trailers | Trailer: X |
        Expect: 100-continue\r\nContent-Length: 5 | Connection: keep-alive | Connection: Host |
        Connection: X-Request-Id, close | Keep-Alive: timeout=0 | Sec-WebSocket-Key: x | X\0: 1 | X: a\nY: b |
        X-Request-Id: a\r\nX-Request-Id: b
      `),
    ],
  ],
  [1, fc.integer({ min: 8000, max: 40_000 }).map((length) => `X-Huge: ${"h".repeat(length)}`)],
  [
    1,
    fc
      .integer({ min: 50, max: 400 })
      .map((many) => Array.from({ length: many }, (_, index) => `X-${index}: 1`).join("\r\n")),
  ],
  [2, wild.map((text) => `X-Wild: ${text}`)],
  [1, wild.map((text) => `${text}: x`)],
  [1, wild],
);
const oddMethods = [...words("TRACE CONNECT PROPFIND PRI get G\0ET"), "", "GET GET", "A".repeat(300)];
const oddTargets = [
  ...words(`* http://x/api/v1/histories http://[/ x // shop:443 /#/ ftp://x /// /api/v1/histories#x`),
  ...["", "/ /", "/\t", `/${"a".repeat(20_000)}`],
  ...["\0", "\xff\xfe", "ä"].map((sku) => `/api/v1/products/pz/${sku}`),
];
const oddVersions = [...words("HTTP/0.9 HTTP/2.0 HTTP/3 HTTP/1.2 HTTP/9.9 http/1.1 HTTP/11 RTSP/1.0"), "", "HTTP/1.1 "];
const first = chance(
  [
    8,
    fc
      .tuple(
        fc.constantFrom(...methods, ...methods, ...oddMethods),
        chance(
          [4, path],
          [1, wild.map((text) => `/${text}`)],
          [1, value.map((text) => `/api/v1/products/pz/${text}`)],
          [1, oddTargets],
        ),
        chance([8, ["HTTP/1.1"]], [3, ["HTTP/1.0"]], [1, oddVersions]),
      )
      .map((parts) => parts.join(" ")),
  ],
  [1, wild],
  [1, [...distinct(raw.map((part) => part.first)), "SSH-2.0-x", "\r\n\r\nGET / HTTP/1.1"]],
);
const body = chance(
  [3, [""]],
  [
    2,
    [
      ...distinct(raw.map((part) => part.body)),
      ...["5\r\nhel", "0\r\nX-Injected: 1\r\n\r\n", "5;x=\0\r\nhello\r\n0\r\n\r\n"],
    ],
  ],
  [1, octets],
  [1, fc.integer({ min: 60_000, max: 70_000 }).map((length) => "b".repeat(length))],
);

interface MalformedRequest {
  readonly text: string;
  /** Where it is cut into pieces, which are sent one after the other. */
  readonly cuts: readonly number[];
  /** Share that is sent before the connection is closed; 1 sends everything. */
  readonly part: number;
}

const malformedRequest = fc.record<MalformedRequest>({
  text: fc
    .tuple(
      first,
      chance([4, ["Host: x\r\n"]], [1, [""]], [1, [...badHosts, "x:99999", "\xff"].map((host) => `Host: ${host}\r\n`)]),
      fc.array(chance([1, line], [3, fields.map((all) => all.join("\r\n")).filter((text) => text !== "")]), {
        maxLength: 3,
      }),
      chance([8, ["\r\n"]], [1, ["\n", ""]]),
      body,
    )
    .map(
      ([start, host, lines, end, rest]) =>
        `${start}\r\n${host}${lines.map((one) => `${one}\r\n`).join("")}${end}${rest}`,
    ),
  cuts: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }) },
  ),
  part: fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
  ),
});

/** Statuses with which the runtime rejects a request that it cannot parse. */
const rejections = new Set([400, 405, 408, 411, 413, 414, 417, 426, 431, 501, 505]);

/** Status lines of failures that are not rejections by the runtime, in any of several responses. */
const laterFailures = (bytes: Buffer) =>
  bytes.toString("latin1").match(/(?<=^|\n)HTTP\/1\.1 5(?!01 |05 )[^\r]*/g) ?? [];

/** Whether a head that the runtime let through has one valid host. */
function hasOneHost(text: string): boolean {
  const [first = "", ...lines] = (text.split("\r\n\r\n")[0] ?? "").split("\r\n");
  const hosts = lines.flatMap((text) => text.match(/^host:[ \t]*(.*?)[ \t]*$/i)?.[1] ?? []);
  if (hosts.length === 0) return first.endsWith("HTTP/1.0");
  return hosts.length === 1 && /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.test(hosts[0] ?? "");
}

/** @returns what is wrong with the response */
async function sendMalformed({ text, cuts, part }: MalformedRequest): Promise<string[]> {
  const wire = await Wire.open(service.url);
  const sent = text.slice(0, Math.ceil(text.length * part));
  const at = [0, ...cuts.map((cut) => Math.floor(cut * sent.length)).sort((a, b) => a - b), sent.length];
  for (let index = 1; index < at.length; index++) {
    wire.write(sent.slice(at[index - 1], at[index]));
    if (index + 1 < at.length) await Bun.sleep(1);
  }
  if (part < 1) {
    wire.end();
    return [];
  }
  const isHead = text.startsWith("HEAD ");
  await wire.receive((all) => parseResponse(all, isHead) !== undefined, 40);
  wire.end();
  const { bytes } = wire;
  if (bytes.length === 0) {
    count("malformed, no response:", 0);
    return [];
  }
  const response = parseResponse(bytes, isHead);
  if (response === undefined)
    return bytes.toString("latin1").startsWith("HTTP/1.1 100")
      ? []
      : [`half a response: ${bytes.toString("latin1").slice(0, 200)}`];
  const { status, headers: got } = response;
  const isOfService = got.has("access-control-allow-origin");
  count(`malformed, response from the ${isOfService ? "service" : "runtime"}:`, status);
  const isOurs = isOfService || status === 100;
  const problems: string[] = [...laterFailures(bytes)];
  if (!isOurs && !rejections.has(status)) problems.push(`the runtime responds with ${status}`);
  if (isOurs && status >= 500) problems.push(`status ${status}`);
  if (isOurs && status !== 100 && status !== 400 && !hasOneHost(text)) {
    problems.push(`status ${status} with an invalid host`);
  }
  if (got.has("x-injected")) problems.push("an injected header");
  return problems;
}

describe("malformed, split, and interrupted requests", () => {
  test("are rejected or get a response, and do no harm", async () => {
    let sent = 0;
    const property = fc.asyncProperty(fc.array(malformedRequest, { minLength: 1, maxLength: 20 }), async (all) => {
      sent += all.length;
      expect((await Promise.all(all.map(sendMalformed))).flat()).toEqual([]);
    });
    while (sent < requests - validRequests) await fc.assert(property, { numRuns: 50, endOnFailure: !isCampaign });
    await expectHealthy();
    report(sent, "malformed");
  });
});
