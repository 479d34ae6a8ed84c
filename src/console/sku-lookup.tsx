/** @jsxImportSource hono/jsx */
import { pluralize } from "../base/format.ts";
import { personalizationPath } from "../contract/personalization.ts";
import type { PageRequest } from "../http/page.ts";
import type { Generation } from "../personalization/generation.ts";
import { CommaSeparated, EmptyState, ExactTime, Preformatted, Section, SkuLink } from "./components/elements.tsx";
import { TextField } from "./components/fields.tsx";
import { PersonalizationTree } from "./components/personalization-tree.tsx";
import type { ConsoleContext } from "./context.ts";
import { explainSku } from "./explain-sku.ts";
import { type FoundOffer, findOffer } from "./order-mark.ts";
import { readSkuFacts, type SkuFacts } from "./sku-facts.ts";
import { queryParameter } from "./urls.ts";

/**
 * What shoppers see of a SKU and why, its products, and what an order of it was offered.
 * @param generations of all brands
 * @param endpoint base URL of the public API
 */
export async function lookUpSku(
  context: ConsoleContext,
  request: PageRequest,
  sku: string,
  generations: readonly Generation[],
  endpoint: string,
) {
  // Without a brand, the page shows the one that customers see. The mark is an order's `_personalization`.
  const [brand, mark] = [queryParameter(request, "brand"), queryParameter(request, "mark")];
  const facts = await readSkuFacts(context, sku, brand, generations);
  const { offer, now, products } = facts;
  const served = facts.offering[0]?.brand;
  return {
    /** The brand that is shown; undefined if none has the SKU. */
    brand: offer?.generation.brand ?? brand,
    hasWidget: offer !== undefined && offer.generation.brand === served,
    body: (
      <>
        {mark !== undefined && (
          <OrderedOffer sku={sku} mark={mark} offer={await findOffer(context, sku, mark, generations)} now={now} />
        )}
        <Answer facts={facts} endpoint={endpoint} />
        {products.length !== 0 && <Products products={products} />}
        {offer !== undefined && <Offer sku={sku} offer={offer} served={served} endpoint={endpoint} />}
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
      </>
    ),
  };
}

function Answer({ facts, endpoint }: { readonly facts: SkuFacts; readonly endpoint: string }) {
  const { isOffered, answer, findings } = explainSku(facts);
  const isFine = isOffered && findings.every(({ kind }) => kind === "offered" || kind === "cached");
  return (
    <Section id="answer" title={answer} class={isFine ? "notice ok" : "notice"}>
      <ul>
        {findings.map(({ sentence }) => (
          <li>{sentence.map((part) => (typeof part === "string" ? part : <a href={part.url}>{part.text}</a>))}</li>
        ))}
      </ul>
      <p>
        <a href={`${endpoint}${personalizationPath(facts.sku)}`}>View response of the public API</a>
      </p>
    </Section>
  );
}

const Products = ({ products }: Pick<SkuFacts, "products">) => (
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

interface OfferProps {
  readonly sku: string;
  readonly offer: FoundOffer;
  /** The brand whose personalization the public API serves for this SKU. */
  readonly served: string | undefined;
  readonly endpoint: string;
}

function Offer({ sku, offer: { generation, personalization }, served, endpoint }: OfferProps) {
  const { brand } = generation;
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

interface OrderedOfferProps extends Pick<OfferProps, "sku"> {
  readonly mark: string;
  /** Undefined if no kept generation matches. */
  readonly offer: FoundOffer | undefined;
  readonly now: number;
}

function OrderedOffer({ sku, mark, offer, now }: OrderedOfferProps) {
  if (offer === undefined) {
    return (
      <EmptyState title={`The offer ${mark} is no longer stored.`}>
        <p>
          No kept generation of any brand offers {sku} with it. Compare the mark and the SKU with the order: both must
          be those of the same line item. <code>keep_generations</code> says how many generations imports keep.
        </p>
      </EmptyState>
    );
  }
  const { id, brand, loadedAt, isCurrent } = offer.generation;
  return (
    <Section id="offer" title={`What the customer was offered: ${mark}`}>
      <p>
        Exactly this, in generation {id} of {brand}, loaded <ExactTime at={loadedAt} now={now} />
        {isCurrent ? ". It is still offered." : ". The current generation offers something else."}
      </p>
      <PersonalizationTree personalization={offer.personalization} brand={brand} />
    </Section>
  );
}
