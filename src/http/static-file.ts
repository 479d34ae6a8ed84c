import { type Answer, type AnswerParts, hashTag, toAnswer } from "../cache/response.ts";
import type { Handler } from "./endpoint.ts";

/** What changes with the version only: it is asked for again, and mostly not sent again. */
const caching = { "Cache-Control": "public, max-age=300" };

/** Answers everyone the same, which is made when it is first asked for, and kept. */
export function fileHandler(make: () => AnswerParts & { readonly body: string }): Handler {
  let answer: Answer | undefined;
  return () => {
    if (answer === undefined) {
      const parts = make();
      answer = toAnswer({ ...parts, tag: hashTag(parts.body), headers: { ...caching, ...parts.headers } });
    }
    return answer;
  };
}
