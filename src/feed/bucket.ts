import { join } from "node:path";
import { S3Client, type S3File } from "bun";
import type { PersonalizationOptions } from "../config/index.ts";
import { ServiceError } from "../errors.ts";
import { saveStream } from "../temporary-folder.ts";
import type { Credentials, FoundFile, Origin } from "./delivery.ts";
import { findLists } from "./lists.ts";

/** Objects below a prefix of an S3 bucket. */
export function bucketOrigin(
  options: PersonalizationOptions,
  { s3Endpoint, s3Region, s3AccessKeyId, s3SecretAccessKey }: Credentials,
  signal: AbortSignal,
): Origin {
  const [, bucket = "", path = ""] = options.source.match(/^s3:\/\/([^/]+)\/?(.*)$/i) ?? [];
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  const base = `s3://${bucket}/${prefix}`;
  const client = new S3Client({
    bucket,
    region: s3Region,
    ...(s3Endpoint !== "" && { endpoint: s3Endpoint }),
    accessKeyId: s3AccessKeyId,
    secretAccessKey: s3SecretAccessKey,
  });

  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  stopped.catch(() => {});

  const ask = async <T>(name: string, request: Promise<T>): Promise<T> => {
    try {
      signal.throwIfAborted();
      // The client knows no signal: what it waits for goes on until the process ends, but nobody waits for it.
      return await Promise.race([request, stopped]);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof ServiceError) throw cause;
      const { code = "", message } = cause as Error & { code?: string };
      throw new ServiceError("unavailable", `${name}: ${[code, message].filter(Boolean).join(": ")}`, { cause });
    }
  };

  const look = async (name: string): Promise<FoundFile | undefined> => {
    const file = client.file(`${prefix}${name}`);
    const found = await ask(`${base}${name}`, file.stat().catch(explain(file)).catch(undefinedIfMissing));
    if (found === undefined) return undefined;
    const changedAtMs = found.lastModified.getTime();
    return { name: `${base}${name}`, version: found.etag, changedAtMs, ageMs: Date.now() - changedAtMs };
  };

  return {
    name: base,
    versionsTell: true,
    find: async (marker) => ({
      files: await findLists(options, base, look),
      marker: marker === undefined ? undefined : await look(marker),
    }),
    fetch: async ({ name, version }, openFolder) => {
      const key = name.slice(base.length);
      const target = join((await openFolder()).path, key);
      await ask(name, saveStream(client.file(`${prefix}${key}`).stream(), target));
      return (await look(key))?.version === version ? target : undefined;
    },
  };
}

/** A store says nothing of why it refuses a look: asked for the first byte it does. */
function explain(file: S3File): (error: Error & { code?: string }) => Promise<never> {
  return async (error) => {
    if (error.code === "UnknownError") await file.slice(0, 1).bytes();
    throw error;
  };
}

function undefinedIfMissing(error: Error & { code?: string }): undefined {
  if (error.code === "NoSuchKey" || error.code === "NotFound" || error.code === "ERR_S3_NOT_FOUND") return undefined;
  throw error;
}
