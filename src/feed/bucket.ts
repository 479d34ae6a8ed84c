import { join } from "node:path";
import { S3Client } from "bun";
import { readStart } from "../base/body.ts";
import { ServiceError } from "../base/errors.ts";
import { createFetch } from "../base/outgoing.ts";
import { limitSize } from "../base/size.ts";
import { saveStream } from "../base/temporary-folder.ts";
import { bodyOf, changedAtOf, isTemporary, isWhole, Requests } from "./requests.ts";
import type { FeedSource, SourceSettings } from "./source.ts";

/** In seconds, to tolerate clocks that differ. */
const expiresIn = 3600;
/** An error response has its reason at the start. */
const maxReasonBytes = 10_000;

/**
 * Uses signed URLs, because the runtime's client follows all redirects, and cannot be aborted.
 * @param address `s3://BUCKET/PREFIX`
 */
export function bucketSource(address: string, settings: SourceSettings, signal: AbortSignal): FeedSource {
  const { maxFileMegabytes, s3Endpoint } = settings;
  const [, bucket = "", path = ""] = address.match(/^s3:\/\/([^/]+)\/?(.*)$/i) ?? [];
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  const base = `s3://${bucket}/${prefix}`;
  const client = new S3Client({
    bucket,
    region: settings.s3Region,
    ...(s3Endpoint !== "" && { endpoint: s3Endpoint }),
    accessKeyId: settings.s3AccessKeyId,
    secretAccessKey: settings.s3SecretAccessKey,
  });
  const requests = new Requests(createFetch(settings), signal);

  const send = <T>(
    method: "GET" | "HEAD",
    fileName: string,
    use: (response: Response) => T | Promise<T>,
    headers: Record<string, string> = {},
  ): Promise<T> => {
    const url = client.presign(`${prefix}${fileName}`, { method, expiresIn });
    return requests.send(url, { method, headers, redirect: "manual" }, use);
  };

  return {
    name: base,
    hasReliableVersions: true,
    stopsAtFirstMatch: false,
    findFile: (fileName) => {
      const name = `${base}${fileName}`;
      return requests.retry(name, async () => {
        const response = await send("HEAD", fileName, (response) => response);
        const { status, headers } = response;
        if (status === 404) return undefined;
        if (status !== 200) {
          // A response to HEAD has no body, so this requests the first byte to get the reason.
          return await send("GET", fileName, (refusal) => rejectWithReason(name, refusal), { Range: "bytes=0-0" });
        }
        // The time of a large object is when its upload began.
        return { name, version: headers.get("etag") ?? "", changedAtMs: changedAtOf(response) };
      });
    },
    fetch: async ({ name, version }, openFolder) => {
      const fileName = name.slice(base.length);
      const target = join((await openFolder()).path, fileName);
      return await requests.retry(name, () =>
        send("GET", fileName, async (response) => {
          if (!isWhole(response.status)) return await rejectWithReason(name, response);
          limitSize(name, Number(response.headers.get("content-length")), maxFileMegabytes);
          await saveStream(bodyOf(response), target, (bytes) => limitSize(name, bytes, maxFileMegabytes));
          return (response.headers.get("etag") ?? "") === version ? target : undefined;
        }),
      );
    },
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
