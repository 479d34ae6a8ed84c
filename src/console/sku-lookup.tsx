/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { readNow } from "../database/database.ts";
import type { Generation } from "../personalization/generation.ts";
import { listKnownSkus } from "../personalization/store.ts";
import {
  MarkForm,
  Offer,
  OtherBrands,
  ProductsOfSku,
  SkuPersonalization,
  UnknownSku,
} from "./components/sku-personalization.tsx";
import type { ConsoleContext } from "./context.ts";
import { findOffer } from "./order-mark.ts";
import { listProductsOfSku, listSimilarSkus } from "./similar-skus.ts";

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
  /** Whether the body has the widget. */
  readonly hasWidget: boolean;
}

/**
 * A SKU's personalization, its products, and what an order of it was offered.
 * @param generations of all brands
 * @param endpoint base URL of the public API
 */
export async function lookUpSku(
  context: ConsoleContext,
  { sku, brand, mark }: SkuLookup,
  generations: readonly Generation[],
  endpoint: string,
): Promise<SkuResult> {
  const { database } = context;
  const current = generations.filter(({ isCurrent }) => isCurrent);
  const known = await Promise.all(current.map(({ id }) => listKnownSkus(database, id, [sku])));
  const offering = inServedOrder(
    context.brand,
    current.filter((_, index) => known[index]?.length === 1),
  );
  const shown = brand === undefined ? offering[0] : offering.find((generation) => generation.brand === brand);
  const products = await listProductsOfSku(database, sku);
  return {
    brand: shown?.brand ?? brand,
    hasWidget: shown !== undefined && shown === offering[0],
    body: (
      <>
        {mark === undefined ? (
          ""
        ) : (
          <Offer
            sku={sku}
            mark={mark}
            offer={await findOffer(context, sku, mark, generations)}
            now={Date.parse(await readNow(database))}
          />
        )}
        <ProductsOfSku products={products} />
        {shown !== undefined ? (
          <SkuPersonalization
            sku={sku}
            brand={shown.brand}
            personalization={(await context.findPersonalization(shown.id, sku)).personalization}
            served={offering[0]?.brand ?? shown.brand}
            endpoint={endpoint}
          />
        ) : brand !== undefined && offering.length > 0 ? (
          <OtherBrands sku={sku} brand={brand} brands={offering.map((generation) => generation.brand)} />
        ) : (
          <UnknownSku sku={sku} similar={await listSimilarSkus(database, sku, current)} endpoint={endpoint} />
        )}
        <MarkForm sku={sku} mark={mark} />
      </>
    ),
  };
}

/** As the public API does: the service's own brand comes first, then the others by name. */
const inServedOrder = (own: string, generations: readonly Generation[]) => [
  ...generations.filter(({ brand }) => brand === own),
  ...generations.filter(({ brand }) => brand !== own),
];
