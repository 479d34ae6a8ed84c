/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import packageJson from "../../package.json" with { type: "json" };

const sections = [
  ["/", "Overview"],
  ["/runs", "Runs"],
  ["/products", "Products"],
  ["/personalization", "Personalization"],
] as const;

export interface LayoutProps {
  readonly title: string;
  /** The address of the section that the page belongs to. */
  readonly section?: (typeof sections)[number][0];
  /** Addresses of scripts that the page is better with. */
  readonly scripts?: readonly string[];
  readonly children?: Child;
}

export function Layout({ title, section, scripts = [], children }: LayoutProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title} · Product Data Service</title>
        {/* Without one a browser asks for /favicon.ico. */}
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/console/style.css" />
        {scripts.map((address) => (
          <script src={address} type="module" />
        ))}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header>
          <p class="name">Product Data Service</p>
          <nav aria-label="Console">
            <ul>
              {sections.map(([address, name]) => (
                <li>
                  <a href={address} {...(address === section && { "aria-current": "page" })}>
                    {name}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
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
