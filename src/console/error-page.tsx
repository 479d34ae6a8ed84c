/** @jsxImportSource hono/jsx */
import { toSentence } from "../base/format.ts";
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

/**
 * @param next path to continue with after signing in
 * @param damage how the store is damaged; undefined if it is not, as far as it was read
 */
export function errorPage(
  { status, detail }: { readonly status: number; readonly detail: string },
  requestId: string,
  next: string,
  damage: string | undefined,
): Page {
  const page = htmlPage(
    <Layout title={titles[status] ?? "Something went wrong"}>
      {status === 503 && damage !== undefined ? (
        <Damage reason={damage} />
      ) : (
        <>
          <p>
            {status === 404
              ? "No page, run, product, or generation exists at this address. It may have been removed."
              : detail}
          </p>
          {status === 401 ? <SignInForm next={next} /> : <p>Return to the overview, or check the latest runs.</p>}
        </>
      )}
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

const Damage = ({ reason }: { readonly reason: string }) => (
  <>
    <section class="notice" aria-label="Problem">
      <p>
        <strong>A part of the store cannot be read.</strong> {toSentence(reason)}
      </p>
    </section>
    <p>
      What can still be read is served to shoppers, but jobs may fail. Restore a backup. If the store is a file, you can
      also stop the service, remove the file, and start the service: the jobs load everything again, but manual imports,
      rollbacks, pauses, and the audit are lost.
    </p>
    <p>
      <a href="/readyz">The readiness probe</a> gives the same reason.
    </p>
  </>
);
