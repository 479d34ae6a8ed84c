import { ServiceError } from "../errors.ts";
import { checkDestination, untilAborted } from "../outgoing.ts";
import { saveStream } from "../temporary-folder.ts";
import { createBucketClient, createBucketRequests, toServiceError } from "./bucket-requests.ts";
import type { BucketSettings } from "./source.ts";

/** One object of an S3 bucket. */
export interface BucketObject {
  /** Its address. */
  readonly name: string;
  /** Uploads a file, in parts. */
  upload(path: string): Promise<void>;
  /** @returns the number of bytes */
  download(path: string): Promise<number>;
  /** SHA-256 of its content, in hexadecimal. */
  hash(): Promise<string>;
}

/** Parts that wait or are sent are in memory. */
const upload = { partSize: 8 * 2 ** 20, queueSize: 2, retry: 3 } as const;

/**
 * @param address `s3://BUCKET/KEY`
 * @throws ServiceError `bad_request` for another address, `invalid_setting` without credentials
 */
export function openObject(address: string, settings: BucketSettings, signal: AbortSignal): BucketObject {
  const [, bucket, key] = address.match(/^s3:\/\/([^/]+)\/(.*[^/])$/i) ?? [];
  if (bucket === undefined || key === undefined) {
    throw new ServiceError("bad_request", `${address}: expected s3://BUCKET/KEY`);
  }
  if (settings.s3AccessKeyId === "" || settings.s3SecretAccessKey === "") {
    throw new ServiceError("invalid_setting", `${address}: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY`);
  }
  const client = createBucketClient(bucket, settings);
  const requests = createBucketRequests(bucket, settings, signal);
  return {
    name: address,
    upload: async (path) => {
      try {
        // Only the runtime's client uploads in parts, and it resolves names by itself.
        await checkDestination(client.presign(key), settings);
        await untilAborted(client.file(key).write(Bun.file(path), upload), signal);
      } catch (cause) {
        throw toServiceError(address, cause, signal);
      }
    },
    download: (path) => requests.read(key, ({ body }) => saveStream(body ?? new ReadableStream(), path)),
    hash: () =>
      requests.read(key, async ({ body }) => {
        const hasher = new Bun.CryptoHasher("sha256");
        for await (const chunk of body ?? []) hasher.update(chunk);
        return hasher.digest("hex");
      }),
  };
}
