/** @jsxImportSource hono/jsx */
import { pluralize } from "../../format.ts";
import type { Personalization } from "../../model/personalization.ts";
import { EmptyState, Preformatted, Section } from "./elements.tsx";
import { PersonalizationTree } from "./personalization-tree.tsx";

interface SkuPersonalizationProps {
  readonly sku: string;
  readonly brand: string;
  /** In display order. */
  readonly personalization: Personalization;
  /** Base URL of the public API. */
  readonly endpoint: string;
}

/** A SKU's personalization as a tree, as the widget, and as JSON. */
export function SkuPersonalization({ sku, brand, personalization, endpoint }: SkuPersonalizationProps) {
  const apiUrl = `${endpoint}/products/pz/${encodeURIComponent(sku)}`;
  const { pzlines, pzstyles, pzchoices } = personalization;
  if (pzlines.length === 0) {
    return (
      <EmptyState title={`${sku} has no personalization.`}>
        <p>
          SKUs must match exactly, including case and spaces. The public API returns three empty lists for this SKU:{" "}
          <a href={apiUrl}>View response</a>.
        </p>
      </EmptyState>
    );
  }
  return (
    <>
      <div class="side-by-side">
        <Section id="tree" title={`${sku}: styles, lines, choices`}>
          <PersonalizationTree personalization={personalization} brand={brand} />
        </Section>
        <Section id="widget" title="Customer view">
          <personalization-options sku={sku} endpoint={endpoint}>
            <p class="muted">
              The widget did not load. It needs JavaScript, and a public listener that this browser can reach.
            </p>
          </personalization-options>
        </Section>
      </div>
      <Section id="json" title="JSON">
        <p>
          <a href={apiUrl}>View response of the public API</a>
        </p>
        <details>
          <summary>
            {pluralize(pzlines.length, "line")}, {pluralize(pzstyles.length, "style")},{" "}
            {pluralize(pzchoices.length, "choice")}
          </summary>
          <Preformatted label="Response as JSON" text={JSON.stringify(personalization, null, 2)} />
        </details>
      </Section>
    </>
  );
}
