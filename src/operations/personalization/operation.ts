import { Content, hashTag } from "../../cache/response.ts";
import { type CacheEntry, type CacheNamespace, lifetimeOf, type ResponseCache } from "../../cache/response-cache.ts";
import type { ConcurrencyLimiter } from "../../concurrency-limiter.ts";
import type { Database } from "../../database/database.ts";
import { findPersonalization } from "../../database/personalization.ts";
import { type Handler, operationTemplate, purgeTags } from "../../http/endpoint.ts";
import { parameter } from "../../http/request.ts";
import type { CachePolicy } from "../../model/cache-policy.ts";
import { fingerprintOf, rowOrder } from "../../model/fingerprint.ts";
import { maxSkuLength, orderPersonalization, type Personalization } from "../../model/personalization.ts";

export interface PersonalizationSource {
  readonly database: Database;
  readonly gate: ConcurrencyLimiter;
  readonly brand: string;
  readonly policy: CachePolicy;
}

const nothing: Personalization = { pzlines: [], pzstyles: [], pzchoices: [] };

/** `GET /api/v1/products/pz/:sku`: what a SKU offers; an unknown SKU offers nothing. */
export function getPersonalization(
  memory: ResponseCache,
  { database, gate, brand, policy }: PersonalizationSource,
): Handler {
  const template = operationTemplate(policy);
  const toFinding = (sku: string, found: Personalization): CacheEntry => {
    const ordered = orderPersonalization(found);
    const body = JSON.stringify(ordered);
    return {
      content: new Content({ template, body, tag: hashTag(body), purgeTags: purgeTags("personalization", sku) }),
      isEmpty: found.pzlines.length === 0,
      fingerprints: fingerprintsOf(sku, ordered),
    };
  };
  const kind: CacheNamespace = {
    name: "personalization",
    ...lifetimeOf(policy),
    find: async (sku) => {
      // No stored SKU is like this, and the database need not be asked, or could not.
      const isUnknown = sku.length > maxSkuLength || sku.includes("\0");
      const found = isUnknown ? nothing : await gate.run(() => findPersonalization(database, brand, sku));
      return toFinding(sku, found);
    },
  };
  return (request, _, nowMs) => memory.answer(kind, parameter(request, "sku"), nowMs);
}

/** Whatever of this changes, the answer does. */
function fingerprintsOf(sku: string, { pzlines, pzstyles, pzchoices }: Personalization): number[] {
  const names = new Set([sku]);
  for (const line of pzlines) names.add(line.style_code);
  for (const style of pzstyles) names.add(style.choice_type);
  const fingerprints = Array.from(names, fingerprintOf);
  const isTied =
    pzlines.some((line, index) => line.style_display_seq === pzlines[index + 1]?.style_display_seq) ||
    pzchoices.some((choice, index) => {
      const next = pzchoices[index + 1];
      return choice.choice_type === next?.choice_type && choice.choice_display_seq === next.choice_display_seq;
    });
  // Where rows have the same sequence their places in the feed decide.
  if (isTied) fingerprints.push(rowOrder);
  return fingerprints;
}
