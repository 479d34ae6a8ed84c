import type { Change } from "../database/change.ts";
import { fingerprintTag, keyTag } from "./headers.ts";
import type { PurgeTarget } from "./target.ts";

/** All responses of these kinds have these tags. */
export const kinds: readonly Change["noun"][] = ["product", "personalization"];

/** The tags to purge, with the kind of the responses that have them. */
export type TagKinds = Map<string, Change["noun"]>;

/** The tags of the responses that were made from the changed data. */
export function* listTags(change: Change): Iterable<string> {
  const { noun } = change;
  if (noun === "product") yield change.key === undefined ? noun : keyTag(noun, change.key);
  else if (change.fingerprints === undefined) yield noun;
  else for (const fingerprint of change.fingerprints) yield fingerprintTag(fingerprint);
}

/** Replaces the tags of each kind that are to be purged as a whole by the tag of the kind. */
export function simplify(tags: TagKinds): string[] {
  return [...tags].flatMap(([tag, kind]) => (tag === kind || !tags.has(kind) ? [tag] : []));
}

/** The tags of one request. */
export interface TagBatch {
  readonly tags: string[];
  bytes: number;
}

/** Adds a tag to the last batch, or to a new one if the provider does not accept it there. */
export function addToBatches(batches: TagBatch[], tag: string, { maxTags, maxBytes }: PurgeTarget): void {
  // In a JSON list, a tag takes two quotes and a comma.
  const bytes = tag.length + 3;
  let last = batches.at(-1);
  if (last === undefined || last.tags.length >= maxTags || last.bytes + bytes > maxBytes) {
    last = { tags: [], bytes: 0 };
    batches.push(last);
  }
  last.tags.push(tag);
  last.bytes += bytes;
}
