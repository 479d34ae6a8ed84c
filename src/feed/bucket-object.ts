import { S3Client } from "bun";
import { ServiceError } from "../errors.ts";
import { saveStream } from "../temporary-folder.ts";
import { requestGuard, revealReason } from "./bucket.ts";
import type { Credentials } from "./source.ts";

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

export type BucketCredentials = Omit<Credentials, "feedAuthorization">;

/** Parts that wait or are sent are in memory. */
const upload = { partSize: 8 * 2 ** 20, queueSize: 2, retry: 3 } as const;

/**
 * @param address `s3://BUCKET/KEY`
 * @throws ServiceError `bad_request` for another address, `invalid_setting` without credentials
 */
export function openObject(address: string, credentials: BucketCredentials, signal: AbortSignal): BucketObject {
  const [, bucket, key] = address.match(/^s3:\/\/([^/]+)\/(.*[^/])$/i) ?? [];
  if (bucket === undefined || key === undefined) {
    throw new ServiceError("bad_request", `${address}: expected s3://BUCKET/KEY`);
  }
  const { s3Endpoint, s3Region, s3AccessKeyId, s3SecretAccessKey } = credentials;
  if (s3AccessKeyId === "" || s3SecretAccessKey === "") {
    throw new ServiceError("invalid_setting", `${address}: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY`);
  }
  const client = new S3Client({
    bucket,
    region: s3Region,
    ...(s3Endpoint !== "" && { endpoint: s3Endpoint }),
    accessKeyId: s3AccessKeyId,
    secretAccessKey: s3SecretAccessKey,
  });
  const object = client.file(key);
  const withErrors = requestGuard(signal);
  return {
    name: address,
    upload: async (path) => {
      await withErrors(address, object.write(Bun.file(path), upload));
    },
    download: (path) =>
      withErrors(
        address,
        object
          .stat()
          .catch(revealReason(object))
          .then(() => saveStream(object.stream(), path)),
      ),
    hash: () =>
      withErrors(
        address,
        (async () => {
          const hasher = new Bun.CryptoHasher("sha256");
          for await (const chunk of object.stream()) hasher.update(chunk);
          return hasher.digest("hex");
        })(),
      ),
  };
}
