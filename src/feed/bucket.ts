import { join } from "node:path";
import { S3Client, type S3File } from "bun";
import { ServiceError } from "../errors.ts";
import { saveStream } from "../temporary-folder.ts";
import type { Credentials, FeedSource, SourceFile } from "./source.ts";

/** The objects below a prefix of an S3 bucket. @param address `s3://BUCKET/PREFIX` */
export function bucketSource(
  address: string,
  { s3Endpoint, s3Region, s3AccessKeyId, s3SecretAccessKey }: Credentials,
  signal: AbortSignal,
): FeedSource {
  const [, bucket = "", path = ""] = address.match(/^s3:\/\/([^/]+)\/?(.*)$/i) ?? [];
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  const base = `s3://${bucket}/${prefix}`;
  const client = new S3Client({
    bucket,
    region: s3Region,
    ...(s3Endpoint !== "" && { endpoint: s3Endpoint }),
    accessKeyId: s3AccessKeyId,
    secretAccessKey: s3SecretAccessKey,
  });
  const withErrors = requestGuard(signal);

  const findFile = async (fileName: string): Promise<SourceFile | undefined> => {
    const name = `${base}${fileName}`;
    const object = client.file(`${prefix}${fileName}`);
    const stats = await withErrors(name, object.stat().catch(revealReason(object)).catch(undefinedIfMissing));
    if (stats === undefined) return undefined;
    const changedAtMs = stats.lastModified.getTime();
    return { name, version: stats.etag, changedAtMs, ageMs: Date.now() - changedAtMs };
  };

  return {
    name: base,
    hasReliableVersions: true,
    stopsAtFirstMatch: false,
    findFile,
    fetch: async ({ name, version }, openFolder) => {
      const fileName = name.slice(base.length);
      const target = join((await openFolder()).path, fileName);
      await withErrors(name, saveStream(client.file(`${prefix}${fileName}`).stream(), target));
      return (await findFile(fileName))?.version === version ? target : undefined;
    },
  };
}

/** Returns a function that makes requests abortable and turns their errors into service errors. */
export function requestGuard(signal: AbortSignal) {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  aborted.catch(() => {});

  return async <T>(name: string, request: Promise<T>): Promise<T> => {
    try {
      signal.throwIfAborted();
      // The client takes no signal: an aborted request runs on, but nothing waits for it.
      return await Promise.race([request, aborted]);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof ServiceError) throw cause;
      const { code = "", message } = cause as Error & { code?: string };
      throw new ServiceError("unavailable", `${name}: ${[code, message].filter(Boolean).join(": ")}`, { cause });
    }
  };
}

/** A response to HEAD has no error body, so this requests the first byte to get the reason. */
export function revealReason(object: S3File): (error: Error & { code?: string }) => Promise<never> {
  return async (error) => {
    if (error.code === "UnknownError") await object.slice(0, 1).bytes();
    throw error;
  };
}

function undefinedIfMissing(error: Error & { code?: string }): undefined {
  if (error.code === "NoSuchKey" || error.code === "NotFound" || error.code === "ERR_S3_NOT_FOUND") return undefined;
  throw error;
}
