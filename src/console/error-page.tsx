/** @jsxImportSource hono/jsx */
import { htmlPage, type Page } from "../page.ts";
import { Layout } from "./layout.tsx";

const titles: Readonly<Record<number, string>> = {
  401: "Admin token required",
  404: "Page not found",
  503: "Data unavailable",
};

interface RequestError {
  readonly status: number;
  readonly detail: string;
}

export function errorPage({ status, detail }: RequestError, requestId: string): Page {
  return htmlPage(
    <Layout title={titles[status] ?? "Something went wrong"}>
      <p>
        {status === 404
          ? "No page, run, product, or generation exists at this address. It may have been removed."
          : detail}
      </p>
      <p>
        {status === 401
          ? "Enter the token as the password. Any user name works."
          : "Return to the overview, or check the latest runs."}
      </p>
      <p class="muted">
        Request reference: <code>{requestId}</code>
      </p>
    </Layout>,
    { status },
  );
}
