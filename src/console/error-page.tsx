/** @jsxImportSource hono/jsx */
import { htmlPage, type Page } from "../http/page.ts";
import { Layout } from "./layout.tsx";
import { SignInForm } from "./sign-in-page.tsx";

const titles: Readonly<Record<number, string>> = {
  400: "Not understood",
  401: "Sign in",
  403: "Not allowed",
  404: "Page not found",
  409: "Not possible",
  503: "Data unavailable",
};

interface RequestError {
  readonly status: number;
  readonly detail: string;
}

/** @param next path to continue with after signing in */
export function errorPage({ status, detail }: RequestError, requestId: string, next: string): Page {
  const page = htmlPage(
    <Layout title={titles[status] ?? "Something went wrong"}>
      <p>
        {status === 404
          ? "No page, run, product, or generation exists at this address. It may have been removed."
          : detail}
      </p>
      {status === 401 ? <SignInForm next={next} /> : <p>Return to the overview, or check the latest runs.</p>}
      <p class="muted">
        Request reference: <code>{requestId}</code>
      </p>
    </Layout>,
    { status },
  );
  if (status !== 401) return page;
  // Browsers answer the challenge for a password with a window of their own.
  return { ...page, headers: { ...page.headers, "WWW-Authenticate": 'Bearer realm="Product Data Service"' } };
}
