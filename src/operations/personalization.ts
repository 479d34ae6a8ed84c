import { invalidatedLifetime } from "../cache/namespace.ts";
import { parameter } from "../http/request.ts";
import type { Operation } from "./operation.ts";

/** Three empty lists for an unknown SKU. */
export const personalization: Operation = {
  name: "personalization",
  isCore: true,
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
          example: "TM814935W",
        },
      },
      responses: {
        200: {
          description: "The SKU's personalization; three empty lists for an unknown SKU.",
          schemas: ["Personalization"],
        },
        400: { description: "The path's percent-encoding is malformed." },
      },
    },
  ],
  cachePolicy: (settings) => settings.cachePersonalization,
  lifetime: (policy) => invalidatedLifetime(policy),
  parseKey: (request) => parameter(request, "sku"),
  createLoader:
    ({ query, personalization }) =>
    (sku, network) =>
      query((database) => personalization.find(database, sku), network),
};
