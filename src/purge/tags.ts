import type { Change } from "../database/change.ts";
import { fingerprintTag, keyTag } from "../model/cdn.ts";
import type { PurgeTarget } from "./target.ts";

/** All responses of these kinds have these tags. */
export const kinds: readonly Change["noun"][] = ["product", "personalization"];

/** The tags to purge, with the kind of the responses that have them. */
export type TagKinds = Map<string, Change["noun"]>;

/** Adds the tags of the responses that were made from the changed data. */
export function addTags(tags: TagKinds, change: Change): void {
  const { noun } = change;
  if (noun === "product") tags.set(change.key === undefined ? noun : keyTag(noun, change.key), noun);
  else if (change.fingerprints === undefined) tags.set(noun, noun);
  else for (const fingerprint of change.fingerprints) tags.set(fingerprintTag(fingerprint), noun);
}

/** Replaces the tags of each kind that are to be purged as a whole by the tag of the kind. */
export function simplify(tags: TagKinds): string[] {
  return [...tags].flatMap(([tag, kind]) => (tag === kind || !tags.has(kind) ? [tag] : []));
}

/** Splits tags into requests that a provider accepts. */
export function toBatches(tags: readonly string[], { maxTags, maxBytes }: PurgeTarget): string[][] {
  const batches: string[][] = [];
  let batch: string[] = [];
  let bytes = 0;
  for (const tag of tags) {
    // In a JSON list, a tag takes two quotes and a comma.
    const size = tag.length + 3;
    if (batch.length === 0 || batch.length >= maxTags || bytes + size > maxBytes) {
      batch = [];
      batches.push(batch);
      bytes = 0;
    }
    batch.push(tag);
    bytes += size;
  }
  return batches;
}
