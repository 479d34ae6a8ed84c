import { S3Client } from "bun";
import { readStart } from "../body.ts";
import { ServiceError } from "../errors.ts";
import { createFetch } from "../outgoing.ts";
import type { BucketSettings } from "./source.ts";

/** Requests that read the objects of one bucket. Each throws ServiceError `unavailable`. */
export interface BucketRequests {
  /** @returns undefined if there is no such object */
  find(key: string): Promise<ObjectFacts | undefined>;
  /** Requests the content, and passes the response on. */
  read<T>(key: string, use: (response: Response) => Promise<T>): Promise<T>;
}

export interface ObjectFacts {
  readonly etag: string;
  readonly changedAtMs: number;
  readonly bytes: number;
}

/** Seconds that a signed URL is valid: long enough for clocks that differ. */
const expiresIn = 3600;
/** Of an error, which has its reason at the start. */
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

/**
 * Reads with signed URLs, because the runtime's own client follows redirects to any address, and
 * cannot be aborted.
 * @param base address of the bucket, for messages
 */
export function createBucketRequests(bucket: string, settings: BucketSettings, signal: AbortSignal): BucketRequests {
  const client = createBucketClient(bucket, settings);
  const fetch = createFetch(settings);

  const send = async <T>(
    method: "GET" | "HEAD",
    key: string,
    use: (response: Response) => T | Promise<T>,
    headers: Record<string, string> = {},
  ): Promise<T> => {
    const name = `s3://${bucket}/${key}`;
    let response: Response | undefined;
    try {
      const url = client.presign(key, { method, expiresIn });
      response = await fetch(url, { method, headers, signal, redirect: "manual", decompress: false });
      return await use(response);
    } catch (cause) {
      throw toServiceError(name, cause, signal);
    } finally {
      if (response?.bodyUsed === false) await response.body?.cancel();
    }
  };

  /** A response to HEAD has no body that says why, so this requests the first byte. */
  const explain = (key: string) => send("GET", key, rejectWithReason, { Range: "bytes=0-0" });

  return {
    find: async (key) => {
      const { status, headers } = await send("HEAD", key, (response) => response);
      if (status === 404) return undefined;
      if (status !== 200) return await explain(key);
      return {
        etag: headers.get("etag") ?? "",
        changedAtMs: Date.parse(headers.get("last-modified") ?? ""),
        bytes: Number(headers.get("content-length")),
      };
    },
    read: (key, use) => send("GET", key, (response) => (response.ok ? use(response) : rejectWithReason(response))),
  };
}

/** @throws the reason of the signal if it has aborted */
function toServiceError(name: string, cause: unknown, signal: AbortSignal): ServiceError {
  signal.throwIfAborted();
  if (cause instanceof ServiceError) return cause;
  const { code = "", message } = cause as Error & { code?: string };
  const reason = message.includes(code) ? message : `${code}: ${message}`;
  return new ServiceError("unavailable", `${name}: ${reason}`, { cause });
}

async function rejectWithReason(response: Response): Promise<never> {
  const xml = `${await readStart(response, maxReasonBytes)}`;
  const [code, message] = ["Code", "Message"].map((tag) => xml.match(`<${tag}>([^<]*)</${tag}>`)?.[1]);
  throw new Error([code ?? `status ${response.status}`, message].filter(Boolean).join(": "));
}
