/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { Generation } from "../personalization/generation.ts";
import { SkuAnswer } from "./components/sku-answer.tsx";
import { MarkForm, Offer, ProductsOfSku, SkuPersonalization } from "./components/sku-personalization.tsx";
import type { ConsoleContext } from "./context.ts";
import { explainSku } from "./explain-sku.ts";
import { findOffer } from "./order-mark.ts";
import { readSkuFacts } from "./sku-facts.ts";

interface SkuLookup {
  readonly sku: string;
  /** Undefined for the brand that customers see. */
  readonly brand: string | undefined;
  /** An order's `_personalization`. */
  readonly mark: string | undefined;
}

export interface SkuResult {
  readonly body: Child;
  /** The brand that is shown; undefined if none has the SKU. */
  readonly brand: string | undefined;
  readonly hasWidget: boolean;
}

/**
 * What shoppers see of a SKU and why, its products, and what an order of it was offered.
 * @param generations of all brands
 * @param endpoint base URL of the public API
 */
export async function lookUpSku(
  context: ConsoleContext,
  { sku, brand, mark }: SkuLookup,
  generations: readonly Generation[],
  endpoint: string,
): Promise<SkuResult> {
  const facts = await readSkuFacts(context, sku, brand, generations);
  const { offer, now } = facts;
  const served = facts.offering[0]?.brand;
  return {
    brand: offer?.generation.brand ?? brand,
    hasWidget: offer !== undefined && offer.generation.brand === served,
    body: (
      <>
        {mark !== undefined && (
          <Offer sku={sku} mark={mark} offer={await findOffer(context, sku, mark, generations)} now={now} />
        )}
        <SkuAnswer explanation={explainSku(facts)} sku={sku} endpoint={endpoint} />
        <ProductsOfSku products={facts.products} />
        {offer !== undefined && (
          <SkuPersonalization
            sku={sku}
            brand={offer.generation.brand}
            personalization={offer.personalization}
            served={served ?? offer.generation.brand}
            endpoint={endpoint}
          />
        )}
        <MarkForm sku={sku} mark={mark} />
      </>
    ),
  };
}
