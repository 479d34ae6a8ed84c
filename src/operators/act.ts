import { ServiceError } from "../base/errors.ts";
import type { RequestOrigin } from "../http/client-network.ts";
import type { Viewer } from "../http/page.ts";
import { parameter } from "../http/request.ts";
import type { ViewerHandler } from "./access.ts";
import { readForm, requireFormToken, requireSameOrigin } from "./form.ts";
import { redirect } from "./sign-in.ts";

interface Actor {
  readonly operator: string;
  readonly client: string;
}

export interface OperatorActions {
  /**
   * @returns the path of the page with the result
   * @throws ServiceError when it cannot be done
   */
  readonly perform: (action: string, form: URLSearchParams, by: Actor) => Promise<string>;
  /** Records an action that was refused before it was planned. */
  readonly refuse: (action: string, by: Actor, error: unknown) => Promise<void>;
}

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
