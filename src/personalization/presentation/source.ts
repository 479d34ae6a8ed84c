import { basename, dirname } from "node:path";
import { isUrl } from "../../base/url.ts";
import type { FeedRequest } from "../../feed/delivery.ts";
import type { PresentationOptions } from "./options.ts";

/** The one file of a presentation, as a feed. */
export function toFileRequest({ source, settle_seconds }: PresentationOptions): FeedRequest<"presentation"> {
  const [folder, name] = isUrl(source) ? splitUrl(source) : [dirname(source), basename(source)];
  return { source: folder, fileNames: { presentation: [name] }, marker: undefined, settleSeconds: settle_seconds };
}

function splitUrl(url: string): [folder: string, name: string] {
  const end = url.lastIndexOf("/") + 1;
  const name = url.slice(end);
  // A web source encodes the name itself; the keys of a bucket are not encoded.
  return [url.slice(0, end), /^http/i.test(url) ? decodeName(name) : name];
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
