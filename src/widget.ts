import { buildPersonalizer } from "../packages/personalizer/build.ts" with { type: "macro" };
import de from "../packages/personalizer/languages/de.json" with { type: "json" };
import es from "../packages/personalizer/languages/es.json" with { type: "json" };
import fr from "../packages/personalizer/languages/fr.json" with { type: "json" };
import ja from "../packages/personalizer/languages/ja.json" with { type: "json" };
import { prepareResponse, type ResponseParts } from "./cache/response.ts";
import type { Handler } from "./http/endpoint.ts";
import { parameter } from "./http/request.ts";
import { fileHandler } from "./http/static-file.ts";
import { hashTag } from "./model/entity-tag.ts";

/**
 * Bundled at compile time: when this file is loaded from source, or when the executable is built.
 */
const script = buildPersonalizer();
const version = hashTag(script);

// Pages with cross-origin isolation load only resources that have this header.
const headers = { "Cross-Origin-Resource-Policy": "cross-origin" };

const parts: ResponseParts & { readonly body: string } = {
  type: "text/javascript; charset=utf-8",
  body: script,
  headers,
};

/** Path of this version of the widget's script. */
export const widgetPath = `/personalization-options/${version}.js`;

/** `GET /personalization-options.js`: the current version of the widget's script. */
export const getWidget: Handler = fileHandler(() => parts);

/** The widget's texts by language. */
const languages = new Map(
  Object.entries({ de, es, fr, ja }).map(([language, texts]) => [
    `${language}.json`,
    fileHandler(() => ({ type: "application/json", body: JSON.stringify(texts), headers })),
  ]),
);

const immutable = prepareResponse({
  ...parts,
  tag: version,
  headers: { ...headers, "Cache-Control": "public, max-age=31536000, immutable" },
});

/**
 * `GET /personalization-options/:file`: the texts of a language, or a version of the script, which
 * clients cache permanently. Requests for any other version, from an outdated page or to an outdated replica, get the current
 * script with a short cache lifetime.
 */
export const getWidgetVersion: Handler = (request, ...rest) => {
  const language = languages.get(parameter(request, "file"));
  if (language !== undefined) return language(request, ...rest);
  const [, requested] = parameter(request, "file").match(/^([a-z0-9]{1,20})\.js$/) ?? [];
  if (requested === undefined) return undefined;
  return requested === version ? immutable : getWidget(request, ...rest);
};
