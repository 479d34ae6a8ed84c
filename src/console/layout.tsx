/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import packageJson from "../../package.json" with { type: "json" };
import type { Viewer } from "../http/page.ts";
import { demoOperator } from "../operators/tokens.ts";
import { FormToken } from "./components/form-token.tsx";
import { pages, searchRoute } from "./pages/index.ts";

interface LayoutProps {
  readonly title: string;
  readonly section?: string;
  readonly scripts?: readonly string[];
  readonly viewer?: Viewer | undefined;
  /** Shown in the title and by the icon. */
  readonly problemCount?: number;
  readonly search?: string | undefined;
  readonly children?: Child;
}

export function Layout({ title, section, scripts = [], viewer, problemCount = 0, search, children }: LayoutProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${problemCount > 0 ? `(${problemCount}) ` : ""}${title} · Product Data Service`}</title>
        <link rel="icon" href={problemCount > 0 ? "/console/icon-alert.svg" : "/console/icon.svg"} />
        <link rel="stylesheet" href="/console/style.css" />
        <script src="/console/local-time.js" type="module" />
        {scripts.map((url) => (
          <script src={url} type="module" />
        ))}
      </head>
      <body>
        <a class="skip-link" href="#main">
          Skip to main content
        </a>
        <header>
          <p class="product-name">Product Data Service</p>
          <Navigation section={section} />
          <search>
            <form action={searchRoute}>
              <input
                type="search"
                name="q"
                value={search}
                aria-label="Search"
                placeholder="SKU, product, run, style"
                autocomplete="off"
                spellcheck={false}
              />
            </form>
          </search>
          <Operator viewer={viewer} />
        </header>
        <main id="main" tabindex={-1}>
          <h1>{title}</h1>
          {children}
        </main>
        <footer>
          <p>
            Version {packageJson.version}. All times are in UTC. <span data-refreshed></span>
          </p>
        </footer>
      </body>
    </html>
  );
}

function Operator({ viewer }: { readonly viewer: Viewer | undefined }) {
  if (viewer?.operator === demoOperator) return <p class="viewer muted">Sample data: you may act</p>;
  if (viewer?.formToken === undefined) return "";
  return (
    <form class="viewer" method="post" action="/sign-out">
      <FormToken viewer={viewer} />
      <span>
        {viewer.operator} <span class="muted">({viewer.role})</span>
      </span>
      <button type="submit">Sign out</button>
    </form>
  );
}

const Navigation = ({ section }: { readonly section: string | undefined }) => (
  <nav aria-label="Console">
    <ul>
      {pages
        .filter((page) => page.section === undefined)
        .map(({ route, title }) => (
          <li>
            <a href={route} {...(route === section && { "aria-current": "page" })}>
              {title}
            </a>
          </li>
        ))}
    </ul>
  </nav>
);
