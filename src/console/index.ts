import type { ConsoleContext } from "./context.ts";
import copyStyle from "./copy.css" with { type: "text" };
import { differencePage } from "./difference.tsx";
import script from "./live.js" with { type: "text" };
import { overviewPage } from "./overview.tsx";
import { type Render, toFile } from "./page.ts";
import { personalizationPage } from "./personalization.tsx";
import { productPage } from "./product.tsx";
import { productsPage } from "./products.tsx";
import { runPage } from "./run.tsx";
import { runsPage } from "./runs.tsx";
import style from "./style.css" with { type: "text" };

/** The pages for people and the files that they load, by route template. */
export function consolePages(context: ConsoleContext): Readonly<Record<string, Render>> {
  return {
    "/": overviewPage(context),
    "/runs": runsPage(context),
    "/runs/:id": runPage(context),
    "/products": productsPage(context),
    "/products/:id": productPage(context),
    "/personalization": personalizationPage(context),
    "/personalization/difference": differencePage(context),
    "/console/style.css": toFile("text/css; charset=utf-8", style),
    "/console/copy.css": toFile("text/css; charset=utf-8", copyStyle),
    "/console/live.js": toFile("text/javascript; charset=utf-8", script),
  };
}
