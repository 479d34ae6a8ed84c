import type { Option, Product } from "../../src/product.ts";
import { toBullets, toHandle, toParagraphs } from "./html.ts";
import { type Ids, toGid } from "./ids.ts";
import { toImages } from "./images.ts";
import type { Making } from "./making.ts";
import { toMetafields } from "./metafields.ts";
import { type OptionPlan, type ProductPlan, toList, toOptionPlans } from "./plan.ts";
import { toProductMetafields } from "./product-metafields.ts";
import { createRandom, type Random } from "./random.ts";
import { dayMs, toNewYork, workingMoment } from "./time.ts";
import { toCombinations, toVariants } from "./variants.ts";

const firstMs = Date.UTC(2019, 2, 4);
const lastMs = Date.UTC(2026, 9, 30);
const newEditorMs = Date.UTC(2024, 6, 1);

/** At least three months before the last day, so that there is time to publish and change it. */
function createdMoment({ year }: ProductPlan, random: Random): number {
  const fromMs = year === undefined ? firstMs : Math.max(firstMs, Date.UTC(year, 0, 5));
  const toMs = Math.min(lastMs - 90 * dayMs, year === undefined ? lastMs : Date.UTC(year, 11, 20));
  return workingMoment(fromMs, random.int(0, Math.floor((toMs - fromMs) / dayMs)), random);
}

export function toProduct(plan: ProductPlan, ids: Ids, nextNumber: () => number): Product {
  const handle = toHandle(plan.title);
  const random = createRandom(handle);
  const createdMs = createdMoment(plan, random);
  const publishedMs = workingMoment(createdMs, random.int(1, 30), random);
  const updatedMs = workingMoment(createdMs, random.int(31, Math.floor((lastMs - createdMs) / dayMs)), random);
  const old = createdMs < newEditorMs;
  const productId = ids("Product");
  const making: Making = { plan, productId, handle, createdMs, updatedMs, old, random, ids, nextNumber };

  const options = toOptionPlans(plan.options);
  const combinations = toCombinations(options);
  const variantIds = combinations.map(() => ids("ProductVariant"));
  const images = toImages(making, options, combinations, variantIds);
  return {
    id: productId,
    title: plan.title,
    body_html: plan.bare ? "" : toBody(making),
    handle,
    created_at: toNewYork(createdMs),
    updated_at: toNewYork(updatedMs),
    published_at: plan.status === undefined ? toNewYork(publishedMs) : null,
    product_type: plan.type,
    published_scope: random.chance(0.05) ? "global" : "web",
    status: plan.status ?? "active",
    tags: toTags(plan),
    template_suffix: plan.template ?? (plan.offers && random.chance(0.5) ? "personalized" : null),
    vendor: plan.vendor,
    admin_graphql_api_id: toGid("Product", productId),
    images,
    image: images[0] ?? null,
    options: options.map((option, index) => toOption(option, index + 1, making)),
    variants: toVariants(making, combinations, variantIds, images),
    metafields: toMetafields(
      { id: productId, resource: "product", createdMs, updatedMs },
      toProductMetafields(making, publishedMs),
      making,
    ),
  };
}

function toBody({ plan, old, random }: Making): string {
  const copy = toParagraphs(toList(plan.copy), old);
  const bullets = toBullets(toList(plan.bullets), old);
  return random.pick([
    copy,
    `${copy}\n${bullets}`,
    `<meta charset="utf-8">${copy}<h4>Details</h4>${bullets}`,
    `${copy}<p><strong>Details</strong></p>${bullets}<p><a href="/pages/care" title="Care &amp; use">Care</a></p>`,
    `<div class="product-copy"><span data-mce-fragment="1">${copy}</span><br></div>`,
  ]);
}

function toTags({ bare, tags, collection, ware, offers }: ProductPlan): string {
  if (bare) return "";
  const all = tags === undefined ? [] : toList(tags);
  if (collection !== undefined) all.push(`pattern:${collection}`);
  if (offers !== undefined) all.push("personalizable:yes", `pz:${offers}`);
  return [...all, `ware:${ware}`].toSorted().join(", ");
}

function toOption({ name, values }: OptionPlan, position: number, { ids, productId }: Making): Option {
  return { id: ids("ProductOption"), product_id: productId, position, name, values: values.map(({ label }) => label) };
}
