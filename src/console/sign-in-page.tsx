/** @jsxImportSource hono/jsx */
import { htmlPage, type Page } from "../http/page.ts";
import { Layout } from "./layout.tsx";

/**
 * @param next path to continue with
 * @param problem why the last attempt failed
 */
export function signInPage(next: string, problem?: { readonly status: number; readonly text: string }): Page {
  return htmlPage(
    <Layout title="Sign in">
      {problem !== undefined && (
        <p class="notice" role="alert">
          {problem.text}
        </p>
      )}
      <SignInForm next={next} />
    </Layout>,
    { status: problem?.status ?? 200 },
  );
}

export const SignInForm = ({ next }: { readonly next: string }) => (
  <form class="filter" method="post" action="/sign-in">
    <input type="hidden" name="next" value={next} />
    <label class="wide">
      <span>Token</span>
      <input type="password" name="token" required autocomplete="current-password" autofocus />
    </label>
    <button type="submit" class="primary">
      Sign in
    </button>
  </form>
);
