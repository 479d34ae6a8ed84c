import type { Change } from "../database/change.ts";
import { fingerprintTag, keyTag } from "./headers.ts";
import type { PurgeTarget } from "./targets.ts";

/** All responses of a kind have its name as a tag. */
export const kinds: readonly Change["noun"][] = ["product", "personalization"];

export type TagKinds = Map<string, Change["noun"]>;

export function* listTags(change: Change): Iterable<string> {
  const { noun } = change;
  if (noun === "product") yield change.key === undefined ? noun : keyTag(noun, change.key);
  else if (change.fingerprints === undefined) yield noun;
  else for (const fingerprint of change.fingerprints) yield fingerprintTag(fingerprint);
}

/** Replaces the tags of each kind that is purged as a whole with the kind's own tag. */
export function simplify(tags: TagKinds): string[] {
  return [...tags].flatMap(([tag, kind]) => (tag === kind || !tags.has(kind) ? [tag] : []));
}

export interface TagBatch {
  readonly tags: string[];
  bytes: number;
}

export function addToBatches(batches: TagBatch[], tag: string, { maxTags, maxBytes }: PurgeTarget): void {
  // In a JSON list, a tag has two quotes and a comma.
  const bytes = tag.length + 3;
  let last = batches.at(-1);
  if (last === undefined || last.tags.length >= maxTags || last.bytes + bytes > maxBytes) {
    last = { tags: [], bytes: 0 };
    batches.push(last);
  }
  last.tags.push(tag);
  last.bytes += bytes;
}
