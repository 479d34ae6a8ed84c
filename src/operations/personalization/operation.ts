import { invalidatedLifetime } from "../../cache/namespace.ts";
import { findPersonalization } from "../../database/personalization.ts";
import { parameter } from "../../http/request.ts";
import { hashTag } from "../../model/entity-tag.ts";
import { fingerprintOf, rowOrder } from "../../model/fingerprint.ts";
import {
  maxSkuLength,
  orderPersonalization,
  type Personalization,
  personalizationSchema,
} from "../../model/personalization.ts";
import type { Operation } from "../operation.ts";

const none: Personalization = { pzlines: [], pzstyles: [], pzchoices: [] };

/** The personalization of a SKU; three empty lists for an unknown SKU. */
export const personalization: Operation = {
  name: "personalization",
  routes: [
    {
      path: "/api/v1/products/pz/:sku",
      operationId: "getPersonalization",
      summary: "Get personalization data for a SKU",
      description:
        "Lines in display order, styles in the order of their lines, choices in the order of their styles. " +
        "Rows of every status are served.",
      parameters: {
        sku: {
          description: "Unique identifier of a product that supports personalization; matched exactly.",
          schema: { type: "string" },
        },
      },
      responses: {
        200: {
          description: "The SKU's personalization; three empty lists for an unknown SKU.",
          schemas: [personalizationSchema],
        },
        400: { description: "The path's percent-encoding is malformed." },
      },
    },
  ],
  cachePolicy: (config) => config.cachePersonalization,
  lifetime: (policy) => invalidatedLifetime(policy),
  parseKey: (request) => parameter(request, "sku"),
  createLoader:
    ({ query, config: { brand } }) =>
    async (sku) => {
      // No stored SKU matches, and the database would reject a NUL.
      const isUnknown = sku.length > maxSkuLength || sku.includes("\0");
      const found = isUnknown ? none : await query((database) => findPersonalization(database, brand, sku));
      const ordered = orderPersonalization(found);
      const body = JSON.stringify(ordered);
      const isEmpty = found.pzlines.length === 0;
      return { body, tag: hashTag(body), isEmpty, fingerprints: fingerprintsOf(sku, ordered) };
    },
};

/** Fingerprints of everything whose change also changes the response. */
function fingerprintsOf(sku: string, { pzlines, pzstyles, pzchoices }: Personalization): number[] {
  const names = new Set([sku]);
  for (const line of pzlines) names.add(line.style_code);
  for (const style of pzstyles) names.add(style.choice_type);
  const fingerprints = Array.from(names, fingerprintOf);
  const hasTies =
    pzlines.some((line, index) => line.style_display_seq === pzlines[index + 1]?.style_display_seq) ||
    pzchoices.some((choice, index) => {
      const next = pzchoices[index + 1];
      return choice.choice_type === next?.choice_type && choice.choice_display_seq === next.choice_display_seq;
    });
  // Rows with equal display sequences are sorted by their position in the feed.
  if (hasTies) fingerprints.push(rowOrder);
  return fingerprints;
}
