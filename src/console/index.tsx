/** @jsxImportSource hono/jsx */
import idiomorph from "idiomorph/dist/idiomorph.min.js" with { type: "text" };
import { htmlPage, type RenderPage, redirectPage, staticFile } from "../http/page.ts";
import type { ConsoleContext, PageContext, PageDefinition } from "./context.ts";
import { csvPage } from "./csv.ts";
import localTimeScript from "./files/local-time.js" with { type: "text" };
import refreshScript from "./files/refresh.js" with { type: "text" };
import { alertIcon, icon } from "./icon.ts";
import { Layout } from "./layout.tsx";
import { pages, searchRoute } from "./pages/index.ts";
import { readServiceState } from "./service-state.ts";
import { SharedReads } from "./shared-reads.ts";
import baseStyle from "./styles/base.css" with { type: "text" };
import chartStyle from "./styles/chart.css" with { type: "text" };
import componentStyle from "./styles/components.css" with { type: "text" };
import layoutStyle from "./styles/layout.css" with { type: "text" };
import mediaStyle from "./styles/media.css" with { type: "text" };
import operatorStyle from "./styles/operators.css" with { type: "text" };
import pageStyle from "./styles/pages.css" with { type: "text" };
import tableStyle from "./styles/table.css" with { type: "text" };
import { queryParameter } from "./urls.ts";

// In cascade order: the media queries override the rest.
const styles = [baseStyle, layoutStyle, componentStyle, tableStyle, chartStyle, pageStyle, operatorStyle, mediaStyle];

export function consolePages(context: ConsoleContext): Readonly<Record<string, RenderPage>> {
  const pageContext = { ...context, shared: new SharedReads() };
  return Object.fromEntries(pages.map((page) => [page.route, renderer(page, pageContext)]));
}

export const consoleFiles = (): Readonly<Record<string, RenderPage>> => ({
  "/console/style.css": file("text/css; charset=utf-8", styles.join("\n")),
  "/console/icon.svg": file("image/svg+xml", icon),
  "/console/icon-alert.svg": file("image/svg+xml", alertIcon),
  // The package's own module is not minified, and three times as large.
  "/console/idiomorph.js": file("text/javascript; charset=utf-8", `${idiomorph}\nexport { Idiomorph };\n`),
  "/console/local-time.js": file("text/javascript; charset=utf-8", localTimeScript),
  "/console/refresh.js": file("text/javascript; charset=utf-8", refreshScript),
});

const file = (type: string, body: string) => staticFile({ type, body }, "private, no-cache");

function renderer({ route, title, section = route, render }: PageDefinition, context: PageContext): RenderPage {
  return async (request) => {
    const content = await render(context, request);
    if (content === undefined) return undefined;
    if ("location" in content) return redirectPage(content.location);
    const { body, scripts = [], allowedOrigins = {}, file: table } = content;
    if (table !== undefined && queryParameter(request, "format") === "csv") return csvPage(table);
    const { problems } = await context.shared.readRecent("state", () => readServiceState(context));
    return htmlPage(
      <Layout
        title={content.title ?? title}
        section={section}
        scripts={scripts}
        viewer={request.viewer}
        problemCount={problems.length}
        search={route === searchRoute ? queryParameter(request, "q") : undefined}
      >
        {body}
      </Layout>,
      { allowedOrigins },
    );
  };
}
