import type { Viewer } from "../../http/page.ts";

/** The hidden field by which the server knows that a form is of the viewer's session. */
export const FormToken = ({ viewer }: { readonly viewer: Viewer | undefined }) =>
  viewer?.formToken === undefined ? "" : <input type="hidden" name="form_token" value={viewer.formToken} />;
