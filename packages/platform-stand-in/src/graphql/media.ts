import { fromArray, type LazyList, toArray } from "../catalog/list.ts";
import type { MediaRecord } from "../catalog/records.ts";
import { badArgument } from "./errors.ts";

/** Supports the only media search that clients need: a single type, such as `media_type:IMAGE`. */
export function filterMedia(media: LazyList<MediaRecord>, query: string | null | undefined): LazyList<MediaRecord> {
  if (query == null || query === "") return media;
  const type = /^media_type:'?(\w+)'?$/.exec(query)?.[1]?.toUpperCase();
  if (type === undefined) throw badArgument(`The stand-in cannot read the media search "${query}"`, "STAND_IN_LIMIT");
  return fromArray(toArray(media).filter(({ mediaContentType }) => mediaContentType === type));
}
