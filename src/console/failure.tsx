/** @jsxImportSource hono/jsx */
import { Layout } from "./layout.tsx";
import { type Page, toPage } from "./page.ts";

const titles: Readonly<Record<number, string>> = {
  401: "The admin token is needed",
  404: "There is nothing here",
  503: "The data cannot be reached",
};

/** A request that failed, as a page. */
export function failurePage(
  { status, detail }: { readonly status: number; readonly detail: string },
  requestId: string,
): Page {
  return toPage(
    <Layout title={titles[status] ?? "That did not work"}>
      <p>
        {status === 404
          ? "No page, run, product or generation has this address. It may have been removed since."
          : detail}
      </p>
      <p>
        {status === 401
          ? "Give the token as the password; the name does not matter."
          : "Go on from the overview, or look at the runs."}
      </p>
      <p class="quiet">
        Request <code>{requestId}</code>
      </p>
    </Layout>,
    { status },
  );
}
