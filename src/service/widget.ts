import { buildPersonalizer } from "../../packages/personalizer/build.ts" with { type: "macro" };
import de from "../../packages/personalizer/languages/de.json" with { type: "json" };
import es from "../../packages/personalizer/languages/es.json" with { type: "json" };
import fr from "../../packages/personalizer/languages/fr.json" with { type: "json" };
import ja from "../../packages/personalizer/languages/ja.json" with { type: "json" };
import { hashTag } from "../base/hash.ts";
import { prepareResponse, type ResponseParts } from "../cache/response.ts";
import type { Handler } from "../http/endpoint.ts";
import { parameter } from "../http/request.ts";
import { fileHandler } from "../http/static-file.ts";

/**
 * Bundled when this file is loaded from source, or built, so it cannot be older than its source.
 */
const { script, form, formFile } = buildPersonalizer();
const version = hashTag(script);

// Pages with cross-origin isolation load only resources with this header.
const headers = { "Cross-Origin-Resource-Policy": "cross-origin" };
const immutableHeaders = { ...headers, "Cache-Control": "public, max-age=31536000, immutable" };

const toParts = (body: string): ResponseParts & { readonly body: string } => ({
  type: "text/javascript; charset=utf-8",
  body,
  headers,
});

/** Includes the version of the widget's script. */
export const widgetPath = `/personalization-options/${version}.js`;

/** `GET /personalization-options.js`: the current script of the widget. */
export const getWidget: Handler = fileHandler(() => toParts(script));

const languages = new Map(
  Object.entries({ de, es, fr, ja }).map(([language, texts]) => [
    `${language}.json`,
    fileHandler(() => ({ type: "application/json", body: JSON.stringify(texts), headers })),
  ]),
);

const getForm = fileHandler(() => toParts(form));

/** Versioned files by name, which clients cache permanently. */
const immutable = new Map(
  [[`${version}.js`, script] as const, [formFile, form] as const].map(([name, body]) => [
    name,
    prepareResponse({ ...toParts(body), tag: hashTag(body), headers: immutableHeaders }),
  ]),
);

const [contract = ""] = formFile.match(/^form-\d+-/) ?? [];

/**
 * `GET /personalization-options/:file`: the texts of a language, or a version of a script. A
 * request for another version, from an outdated page or to an outdated replica, gets the current
 * script with a short cache lifetime. A form that expects another first script gets none.
 */
export const getWidgetVersion: Handler = (request, ...rest) => {
  const file = parameter(request, "file");
  const kept = immutable.get(file);
  if (kept !== undefined) return kept;
  const language = languages.get(file);
  if (language !== undefined) return language(request, ...rest);
  const match = file.match(/^(form-\d+-)?[a-z0-9]{1,20}\.js$/);
  if (match?.[1] === contract) return getForm(request, ...rest);
  return match !== null && match[1] === undefined ? getWidget(request, ...rest) : undefined;
};
