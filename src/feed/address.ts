import { isLoopback, isUrl } from "../base/url.ts";

/** @returns what is wrong with the source of a feed, or undefined if it is valid */
export function findSourceProblem(text: string): string | undefined {
  if (!isUrl(text)) return undefined;
  if (!URL.canParse(text)) return "expected a folder, https://HOST/PATH/ or s3://BUCKET/PREFIX/";
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (hostname === "") return "expected a folder, https://HOST/PATH/ or s3://BUCKET/PREFIX/";
  if (username !== "" || password !== "" || search !== "" || hash !== "") {
    return "expected a URL without user, password, query or fragment; set FEED_AUTHORIZATION for a secret";
  }
  if (protocol === "https:" || protocol === "s3:" || (protocol === "http:" && isLoopback(hostname))) return undefined;
  return "expected https:// or s3:// (http:// is only valid for this machine)";
}
