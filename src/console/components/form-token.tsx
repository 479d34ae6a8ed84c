/** @jsxImportSource hono/jsx */
import type { Viewer } from "../../http/page.ts";

/** Protects a form against forged requests: the server compares the token with the session. */
export const FormToken = ({ viewer }: { readonly viewer: Viewer | undefined }) =>
  viewer?.formToken === undefined ? "" : <input type="hidden" name="form_token" value={viewer.formToken} />;
