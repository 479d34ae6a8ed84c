import { ServiceError } from "../errors.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import { parameter } from "../http/request.ts";
import type { Viewer } from "../model/operator.ts";
import type { ViewerHandler } from "./access.ts";
import { readForm, requireFormToken, requireSameOrigin } from "./form.ts";
import { redirect } from "./sign-in.ts";

/**
 * Does what an operator asks for.
 * @returns the page with the result
 * @throws ServiceError when it cannot be done
 */
export type Perform = (
  action: string,
  form: URLSearchParams,
  by: { readonly operator: string; readonly client: string },
) => Promise<string>;

/** `POST /actions/:action`: does it, if the viewer may. Every check is here, and none is the page's. */
export function postAction(perform: Perform, addressOf: (origin: RequestOrigin) => string): ViewerHandler {
  return async (viewer, request, _requestId, _nowMs, origin) => {
    const operator = requireOperator(viewer);
    requireSameOrigin(request);
    const form = await readForm(request);
    requireFormToken(viewer, form);
    return redirect(await perform(parameter(request, "action"), form, { operator, client: addressOf(origin) }));
  };
}

/** @throws ServiceError `forbidden` */
function requireOperator({ operator, role }: Viewer): string {
  if (operator === undefined) {
    throw new ServiceError("forbidden", "Without a token, the console is read-only. Create one with pds token create.");
  }
  if (role === "operate") return operator;
  throw new ServiceError(
    "forbidden",
    "This needs a token with the role operate, as a bearer token or to sign in. Basic authentication only reads.",
  );
}
