import { join } from "node:path";
import { limitSize } from "../base/size.ts";
import { saveStream } from "../base/temporary-folder.ts";
import { createBucketRequests } from "./bucket-requests.ts";
import { bodyOf } from "./requests.ts";
import type { FeedSource, SourceFile, SourceSettings } from "./source.ts";

/** @param address `s3://BUCKET/PREFIX` */
export function bucketSource(address: string, settings: SourceSettings, signal: AbortSignal): FeedSource {
  const { maxFileMegabytes } = settings;
  const [, bucket = "", path = ""] = address.match(/^s3:\/\/([^/]+)\/?(.*)$/i) ?? [];
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  const base = `s3://${bucket}/${prefix}`;
  const requests = createBucketRequests(bucket, settings, signal);

  const findFile = async (fileName: string): Promise<SourceFile | undefined> => {
    const found = await requests.find(`${prefix}${fileName}`);
    return found && { name: `${base}${fileName}`, ...found };
  };

  return {
    name: base,
    hasReliableVersions: true,
    stopsAtFirstMatch: false,
    findFile,
    fetch: async ({ name, version }, openFolder) => {
      const fileName = name.slice(base.length);
      const target = join((await openFolder()).path, fileName);
      return await requests.read(`${prefix}${fileName}`, async (response) => {
        limitSize(name, Number(response.headers.get("content-length")), maxFileMegabytes);
        await saveStream(bodyOf(response), target, (bytes) => limitSize(name, bytes, maxFileMegabytes));
        return (response.headers.get("etag") ?? "") === version ? target : undefined;
      });
    },
  };
}
