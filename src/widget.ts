import { buildPersonalizer } from "../packages/personalizer/build.ts" with { type: "macro" };
import { type AnswerParts, hashTag, toAnswer } from "./cache/response.ts";
import type { Handler } from "./http/endpoint.ts";
import { parameter } from "./http/request.ts";
import { fileHandler } from "./http/static-file.ts";

/** Made when this file is compiled, whether that is now or was when the program was built. */
const script = buildPersonalizer();
const version = hashTag(script);

const parts: AnswerParts & { readonly body: string } = {
  type: "text/javascript; charset=utf-8",
  body: script,
  // A page that is isolated from others lets in only what says that it may be.
  headers: { "Cross-Origin-Resource-Policy": "cross-origin" },
};

/** Path of the widget's script of exactly this version. */
export const widgetPath = `/personalization-options/${version}.js`;

/** `GET /personalization-options.js`: the widget's script as it is now. */
export const getWidget: Handler = fileHandler(() => parts);

const kept = toAnswer({
  ...parts,
  tag: version,
  headers: { ...parts.headers, "Cache-Control": "public, max-age=31536000, immutable" },
});

/**
 * `GET /personalization-options/:file`: the script of a version, kept for good by whoever gets it. A page may still name a version that
 * is no longer served, and a replica may not serve one yet: both get the script as it is now, and ask again.
 */
export const getWidgetVersion: Handler = (request, ...rest) => {
  const [, asked] = parameter(request, "file").match(/^([a-z0-9]{1,20})\.js$/) ?? [];
  if (asked === undefined) return undefined;
  return asked === version ? kept : getWidget(request, ...rest);
};
