import { ServiceError } from "../base/errors.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { Viewer } from "../http/page.ts";
import { parameter } from "../http/request.ts";
import type { ViewerHandler } from "./access.ts";
import { readForm, requireFormToken, requireSameOrigin } from "./form.ts";
import { redirect } from "./sign-in.ts";

/** The operator who asks for an action. */
interface Actor {
  readonly operator: string;
  readonly client: string;
}

export interface OperatorActions {
  /**
   * Does what an operator asks for.
   * @returns the page with the result
   * @throws ServiceError when it cannot be done
   */
  readonly perform: (action: string, form: URLSearchParams, by: Actor) => Promise<string>;
  /** Records that an operator asked for an action, and may not, or not so. */
  readonly refuse: (action: string, by: Actor, error: unknown) => Promise<void>;
}

/** `POST /actions/:action`: does it, if the viewer may. Every check is here, and none is the page's. */
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
