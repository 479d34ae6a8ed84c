import { S3Client } from "bun";
import { readStart } from "../base/body.ts";
import { ServiceError } from "../base/errors.ts";
import { createFetch } from "../base/outgoing.ts";
import { changedAtOf, isTemporary, isWhole, Requests } from "./requests.ts";
import type { BucketSettings, SourceFile } from "./source.ts";

/** Each method throws ServiceError `unavailable`. */
export interface BucketRequests {
  find(key: string): Promise<ObjectFacts | undefined>;
  read<T>(key: string, use: (response: Response) => Promise<T>): Promise<T>;
}

export type ObjectFacts = Omit<SourceFile, "name">;

/** In seconds, to tolerate clocks that differ. */
const expiresIn = 3600;
/** An error response has its reason at the start. */
const maxReasonBytes = 10_000;

function createBucketClient(bucket: string, settings: BucketSettings): S3Client {
  const { s3Endpoint, s3Region, s3AccessKeyId, s3SecretAccessKey } = settings;
  return new S3Client({
    bucket,
    region: s3Region,
    ...(s3Endpoint !== "" && { endpoint: s3Endpoint }),
    accessKeyId: s3AccessKeyId,
    secretAccessKey: s3SecretAccessKey,
  });
}

/** Uses signed URLs, because the runtime's client follows all redirects, and cannot be aborted. */
export function createBucketRequests(bucket: string, settings: BucketSettings, signal: AbortSignal): BucketRequests {
  const client = createBucketClient(bucket, settings);
  const requests = new Requests(createFetch(settings), signal);
  const nameOf = (key: string) => `s3://${bucket}/${key}`;

  const send = <T>(
    method: "GET" | "HEAD",
    key: string,
    use: (response: Response) => T | Promise<T>,
    headers: Record<string, string> = {},
  ): Promise<T> => {
    const url = client.presign(key, { method, expiresIn });
    return requests.send(url, { method, headers, redirect: "manual" }, use);
  };
  const reject = (key: string) => (response: Response) => rejectWithReason(nameOf(key), response);

  return {
    find: (key) =>
      requests.retry(nameOf(key), async () => {
        const response = await send("HEAD", key, (response) => response);
        const { status, headers } = response;
        if (status === 404) return undefined;
        // A response to HEAD has no body, so this requests the first byte to get the reason.
        if (status !== 200) return await send("GET", key, reject(key), { Range: "bytes=0-0" });
        // The time of a large object is when its upload began.
        return { version: headers.get("etag") ?? "", changedAtMs: changedAtOf(response) };
      }),
    read: (key, use) =>
      requests.retry(nameOf(key), () =>
        send("GET", key, (response) => (isWhole(response.status) ? use(response) : reject(key)(response))),
      ),
  };
}

/** @throws ServiceError `unavailable` with the reason; another Error if it may be temporary */
async function rejectWithReason(name: string, response: Response): Promise<never> {
  const xml = `${await readStart(response, maxReasonBytes)}`;
  const [code, message] = ["Code", "Message"].map((tag) => xml.match(`<${tag}>([^<]*)</${tag}>`)?.[1]);
  const reason = [code ?? `status ${response.status}`, message].filter(Boolean).join(": ");
  // The object exists now, unlike at the previous request.
  if (response.ok || isTemporary(response.status)) throw new Error(reason);
  throw new ServiceError("unavailable", `${name}: ${reason}`);
}
