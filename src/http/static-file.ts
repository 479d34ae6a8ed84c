import { hashTag } from "../base/hash.ts";
import { type PreparedResponse, prepareResponse, type ResponseParts } from "../cache/response.ts";
import type { Handler } from "./endpoint.ts";

/** The body changes only with the program's version, so most revalidations are a 304. */
const caching = { "Cache-Control": "public, max-age=300" };

/** The response never changes while the process runs, and is created on the first request. */
export function fileHandler(create: () => ResponseParts & { readonly body: string }): Handler {
  let response: PreparedResponse | undefined;
  return () => {
    if (response === undefined) {
      const parts = create();
      response = prepareResponse({
        ...parts,
        tag: hashTag(parts.body),
        headers: { ...caching, ...parts.headers },
        effort: "best",
      });
    }
    return response;
  };
}
