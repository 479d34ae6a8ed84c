import type { PageDefinition } from "../context.ts";
import { actionPage } from "./action.tsx";
import { actionsPage } from "./actions.tsx";
import { auditPage, auditRecordPage } from "./audit.tsx";
import { comparisonPage } from "./comparison.tsx";
import { overviewPage } from "./overview.tsx";
import { personalizationPage } from "./personalization.tsx";
import { productPage } from "./product.tsx";
import { productsPage } from "./products.tsx";
import { runPage } from "./run.tsx";
import { runsPage } from "./runs.tsx";
import { searchPage } from "./search.tsx";
import { versionsPage } from "./versions.tsx";

export const searchRoute = "/search";

export const pages: readonly PageDefinition[] = [
  { route: "/", title: "Overview", render: overviewPage },
  { route: "/runs", title: "Runs", render: runsPage },
  { route: "/runs/:id", title: "Run", section: "/runs", render: runPage },
  { route: "/products", title: "Products", render: productsPage },
  { route: "/products/:id", title: "Product", section: "/products", render: productPage },
  { route: "/personalization", title: "Personalization", render: personalizationPage },
  { route: "/personalization/versions", title: "Versions", section: "/personalization", render: versionsPage },
  {
    route: "/personalization/difference",
    title: "Compare generations",
    section: "/personalization",
    render: comparisonPage,
  },
  { route: searchRoute, title: "Search", section: searchRoute, render: searchPage },
  { route: "/actions", title: "Actions", render: actionsPage },
  { route: "/actions/:action", title: "Action", section: "/actions", render: actionPage },
  { route: "/audit", title: "Audit", render: auditPage },
  { route: "/audit/:id", title: "Audit record", section: "/audit", render: auditRecordPage },
];
