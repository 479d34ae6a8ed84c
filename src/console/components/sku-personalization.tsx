/** @jsxImportSource hono/jsx */
import { pluralize } from "../../base/format.ts";
import type { Personalization } from "../../contract/personalization.ts";
import type { FoundOffer } from "../order-mark.ts";
import type { ProductOfSku } from "../similar-skus.ts";
import { CommaSeparated, EmptyState, ExactTime, Preformatted, Section, SkuLink } from "./elements.tsx";
import { TextField } from "./fields.tsx";
import { PersonalizationTree } from "./personalization-tree.tsx";

interface SkuPersonalizationProps {
  readonly sku: string;
  readonly brand: string;
  /** In display order. */
  readonly personalization: Personalization;
  /** The brand whose personalization the public API serves for this SKU. */
  readonly served: string;
  /** Base URL of the public API. */
  readonly endpoint: string;
}

export function SkuPersonalization({ sku, brand, personalization, served, endpoint }: SkuPersonalizationProps) {
  const { pzlines, pzstyles, pzchoices } = personalization;
  return (
    <>
      <div class="side-by-side">
        <Section id="tree" title={`${sku}: styles, lines, choices`}>
          <PersonalizationTree personalization={personalization} brand={brand} />
        </Section>
        <Section id="widget" title="Customer view">
          {served === brand ? (
            // With this method, a form outside a dialog sends nothing.
            <form method="dialog">
              <personalization-options sku={sku} endpoint={endpoint}>
                <p class="muted">
                  The widget did not load. It needs JavaScript, and a public listener that this browser can reach.
                </p>
              </personalization-options>
            </form>
          ) : (
            <EmptyState title={`Customers do not see this one, but that of ${served}.`}>
              <p>
                Several brands have this SKU, and {served} comes first.{" "}
                <SkuLink sku={sku} brand={served} text={`Show that of ${served}`} />
              </p>
            </EmptyState>
          )}
        </Section>
      </div>
      <Section id="json" title="JSON">
        <details>
          <summary>
            {pluralize(pzlines.length, "line")}, {pluralize(pzstyles.length, "style line")},{" "}
            {pluralize(pzchoices.length, "choice")}
          </summary>
          <Preformatted label="Response as JSON" text={JSON.stringify(personalization, null, 2)} />
        </details>
      </Section>
    </>
  );
}

export const ProductsOfSku = ({ products }: { readonly products: readonly ProductOfSku[] }) =>
  products.length === 0 ? (
    ""
  ) : (
    <p>
      {products.length === 1 ? "Product: " : "Products: "}
      <CommaSeparated
        items={products.map(({ id, title, variants }) => (
          <>
            <a href={`/products/${id}`}>{title === "" ? `Product ${id}` : title}</a> ({variants.join(", ")})
          </>
        ))}
      />
    </p>
  );

export const MarkForm = ({ sku, mark }: { readonly sku: string; readonly mark: string | undefined }) => (
  <form class="filter" action="/personalization">
    <input type="hidden" name="sku" value={sku} />
    <TextField
      name="mark"
      label={[<code>_personalization</code>, " of an order for this SKU"]}
      value={mark}
      class="wide"
    />
    <button type="submit">Show offer</button>
  </form>
);

interface OfferProps {
  readonly sku: string;
  readonly mark: string;
  /** Undefined if no kept generation matches. */
  readonly offer: FoundOffer | undefined;
  readonly now: number;
}

export const Offer = ({ sku, mark, offer, now }: OfferProps) =>
  offer === undefined ? (
    <EmptyState title={`The offer ${mark} is no longer stored.`}>
      <p>
        No kept generation of any brand offers {sku} with it. Compare the mark and the SKU with the order: both must be
        those of the same line item. <code>keep_generations</code> says how many generations imports keep.
      </p>
    </EmptyState>
  ) : (
    <Section id="offer" title={`What the customer was offered: ${mark}`}>
      <p>
        Exactly this, in generation {offer.generation.id} of {offer.generation.brand}, loaded{" "}
        <ExactTime at={offer.generation.loadedAt} now={now} />
        {offer.generation.isCurrent ? ". It is still offered." : ". The current generation offers something else."}
      </p>
      <PersonalizationTree personalization={offer.personalization} brand={offer.generation.brand} />
    </Section>
  );
