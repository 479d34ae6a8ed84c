import { ServiceError } from "../base/errors.ts";
import { toLocale } from "../base/locale.ts";
import { chain } from "../base/maybe-promise.ts";
import { invalidatedLifetime } from "../cache/namespace.ts";
import { parameter } from "../http/request.ts";
import type { Operation } from "./operation.ts";

/** The form of a SKU in a locale; it has no styles for an unknown SKU. */
export const form: Operation = {
  name: "form",
  noun: "personalization",
  routes: [
    {
      path: "/api/v1/products/form/:locale/:sku",
      operationId: "getForm",
      summary: "Get the personalization of a SKU as a form",
      description:
        "A tree of styles, lines, and choices, with what the presentation says of them. Without a presentation, " +
        "names are codes and instruction texts.",
      parameters: {
        locale: {
          description: "Language tag (BCP 47) of the texts, such as `en` or `fr-CA`, in any case.",
          schema: { type: "string" },
          example: "en",
        },
        sku: {
          description: "Unique identifier of a product that supports personalization; matched exactly.",
          schema: { type: "string" },
          example: "TM814935W",
        },
      },
      responses: {
        200: { description: "The form; it has no styles for an unknown SKU.", schemas: ["Form"] },
        302: {
          description:
            "The locale is not offered. `Location` has the one that RFC 4647 looks up, such as `fr` for `fr-CA`, " +
            "or else the default locale.",
          schemas: [],
        },
        400: { description: "The locale is not a language tag, or the path's percent-encoding is malformed." },
      },
    },
  ],
  cachePolicy: (settings) => settings.cachePersonalization,
  lifetime: (policy) => invalidatedLifetime(policy),
  parseKey: (request) => {
    const given = parameter(request, "locale");
    const locale = toLocale(given);
    if (locale !== undefined) return `${locale}/${parameter(request, "sku")}`;
    throw new ServiceError("bad_request", "The locale must be a language tag such as en or fr-CA.");
  },
  createLoader:
    ({ query, personalization }) =>
    (key, network) => {
      const [locale, sku] = splitKey(key);
      const finding = query((database) => personalization.findForm(database, sku, locale), network);
      return chain(finding, (found) =>
        found.locale === undefined
          ? found
          : { location: `../${toFormPath(`${found.locale}/${sku}`)}`, fingerprints: found.fingerprints },
      );
    },
};

/** A locale never contains a slash, but a SKU may. */
function splitKey(key: string): [locale: string, sku: string] {
  const end = key.indexOf("/");
  return [key.slice(0, end), key.slice(end + 1)];
}

export function toFormPath(key: string): string {
  const [locale, sku] = splitKey(key);
  return `${locale}/${encodeURIComponent(sku.toWellFormed())}`;
}
