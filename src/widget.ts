import { buildPersonalizer } from "../packages/personalizer/build.ts" with { type: "macro" };
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

const parts: ResponseParts & { readonly body: string } = {
  type: "text/javascript; charset=utf-8",
  body: script,
  // Pages with cross-origin isolation load only resources that have this header.
  headers: { "Cross-Origin-Resource-Policy": "cross-origin" },
};

/** Path of this version of the widget's script. */
export const widgetPath = `/personalization-options/${version}.js`;

/** `GET /personalization-options.js`: the current version of the widget's script. */
export const getWidget: Handler = fileHandler(() => parts);

const immutable = prepareResponse({
  ...parts,
  tag: version,
  headers: { ...parts.headers, "Cache-Control": "public, max-age=31536000, immutable" },
});

/**
 * `GET /personalization-options/:file`: a version of the script, which clients cache permanently.
 * Requests for any other version, from an outdated page or to an outdated replica, get the current
 * script with a short cache lifetime.
 */
export const getWidgetVersion: Handler = (request, ...rest) => {
  const [, requested] = parameter(request, "file").match(/^([a-z0-9]{1,20})\.js$/) ?? [];
  if (requested === undefined) return undefined;
  return requested === version ? immutable : getWidget(request, ...rest);
};
