import { ServiceError } from "../base/errors.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { Viewer } from "../http/page.ts";
import { parameter } from "../http/request.ts";
import type { ViewerHandler } from "./access.ts";
import type { Actions } from "./actions/index.ts";
import { readForm, requireFormToken, requireSameOrigin } from "./form.ts";
import { redirect } from "./sign-in.ts";

export type OperatorActions = Pick<Actions, "perform" | "refuse">;

/** `POST /actions/:action`. All checks are here; pages have none. */
export function postAction(actions: OperatorActions, addressOf: (origin: RequestOrigin) => string): ViewerHandler {
  return async (viewer, request, _nowMs, origin) => {
    const { operator } = viewer;
    if (operator === undefined) {
      throw new ServiceError(
        "forbidden",
        "Without a token, the console is read-only. Create one with pds token create.",
      );
    }
    const action = parameter(request, "action");
    const by = { operator, client: addressOf(origin) };
    const form = await readAllowedForm(viewer, request).catch(async (error) => {
      await actions.refuse(action, by, error);
      throw error;
    });
    return redirect(await actions.perform(action, form, by));
  };
}

/** @throws ServiceError `forbidden` unless the viewer may act, and sent the form */
async function readAllowedForm(viewer: Viewer, request: Request): Promise<URLSearchParams> {
  if (viewer.role !== "operate") {
    throw new ServiceError(
      "forbidden",
      "This needs a token with the role operate, as a bearer token or to sign in. Basic authentication only reads.",
    );
  }
  requireSameOrigin(request);
  const form = await readForm(request);
  requireFormToken(viewer, form);
  return form;
}
