import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Environment } from "./pds.ts";
import { startBreakableServer } from "./server.ts";

const region = "eu-test-1";
const accessKeyId = "AKIDSTANDIN";
const secretAccessKey = "stand-in/secret+0123456789";

export interface StoredObject {
  readonly content: string | Uint8Array;
  /** Default: a date in the past. */
  readonly changed?: Date;
}

/** An S3-compatible store; tests add and remove its objects. */
export interface Store {
  /** Settings for using it. */
  readonly environment: Environment & { readonly S3_SECRET_ACCESS_KEY: string };
  /** By bucket and key: `bucket/folder/name`. */
  readonly objects: Map<string, StoredObject>;
  /** Method and path of each request so far. */
  readonly requests: string[];
  /** Called before each response; returns true if it has responded itself. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
}

/** Listens on a free port until the end of the test or the file that calls this. */
export async function startStore(): Promise<Store> {
  const origin = await startBreakableServer((request, response) => {
    const { method = "", url = "" } = request;
    store.requests.push(`${method} ${url}`);
    const refuse = (status: number, code: string) => {
      const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>It is ${code}</Message></Error>`;
      response.writeHead(status, { "Content-Type": "application/xml" });
      // A response to HEAD has no error body.
      response.end(method === "HEAD" ? undefined : xml);
    };
    const problem = signatureError(request);
    if (problem !== undefined) return refuse(403, problem);
    if (store.intercept(request, response)) return;
    const object = store.objects.get(decodeURIComponent(new URL(url, "http://store").pathname).slice(1));
    if (object === undefined) return refuse(404, "NoSuchKey");
    const whole = Buffer.from(object.content);
    const [, from = "0", to = `${whole.length - 1}`] = request.headers.range?.match(/^bytes=(\d+)-(\d+)?$/) ?? [];
    const part = whole.subarray(Number(from), Number(to) + 1);
    const isPart = part.length < whole.length;
    response.writeHead(isPart ? 206 : 200, {
      "Content-Length": part.length,
      "Content-Type": "binary/octet-stream",
      ETag: `"${createHash("md5").update(whole).digest("hex")}"`,
      "Last-Modified": (object.changed ?? new Date("2024-01-01")).toUTCString(),
      ...(isPart && { "Content-Range": `bytes ${from}-${Number(from) + part.length - 1}/${whole.length}` }),
    });
    response.end(method === "HEAD" ? undefined : part);
  });
  const store: Store = {
    environment: {
      S3_ENDPOINT: origin,
      S3_REGION: region,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
    },
    objects: new Map(),
    requests: [],
    intercept: () => false,
  };
  return store;
}

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

/**
 * The error code for a request, or undefined if the signature in its URL is valid (AWS signature,
 * version 4).
 */
function signatureError({ method, url = "", headers }: IncomingMessage): string | undefined {
  const [path = "", query = ""] = url.split("?");
  if (!query.includes("X-Amz-Signature=")) return "AccessDenied";
  const fields = new URLSearchParams(query);
  const [credential, time, headerNames] = ["Credential", "Date", "SignedHeaders"].map(
    (name) => fields.get(`X-Amz-${name}`) ?? "",
  ) as [string, string, string];
  const [keyId = "", ...scope] = credential.split("/");
  if (keyId !== accessKeyId) return "InvalidAccessKeyId";
  if (scope[1] !== region) return "AuthorizationHeaderMalformed";
  const at = Date.parse(time.replace(/^(....)(..)(..T..)(..)(..Z)$/, "$1-$2-$3:$4:$5"));
  if (!(Math.abs(Date.now() - at) < 15 * 60_000)) return "RequestTimeTooSkewed";
  const names = headerNames.split(";");
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join("");
  const signed = query.split("&").filter((field) => !field.startsWith("X-Amz-Signature="));
  const canonical = [method, path, signed.toSorted().join("&"), lines, headerNames, "UNSIGNED-PAYLOAD"].join("\n");
  const hash = createHash("sha256").update(canonical).digest("hex");
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const expected = hmac(key, ["AWS4-HMAC-SHA256", time, scope.join("/"), hash].join("\n")).toString("hex");
  return names.includes("host") && fields.get("X-Amz-Signature") === expected ? undefined : "SignatureDoesNotMatch";
}
