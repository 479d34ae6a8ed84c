import type { Image, Variant } from "../../src/product.ts";
import { toGid } from "./ids.ts";
import type { Making } from "./making.ts";
import { toMetafields } from "./metafields.ts";
import { gramsOf, type OptionPlan, type OptionValue, type WeightUnit } from "./plan.ts";
import { toNewYork } from "./time.ts";
import { toVariantMetafields } from "./variant-metafields.ts";
import { vendors } from "./vendors.ts";

/** What costs more under these names is larger, and weighs more in proportion; a finer metal does not. */
const weighty = new Set(["Size", "Set", "Piece", "Length", "Height", "Glasses"]);
const decimals: Readonly<Record<WeightUnit, number>> = { lb: 2, oz: 1, kg: 3, g: 0 };

export function toCombinations(options: readonly OptionPlan[]): OptionValue[][] {
  return options.reduce<OptionValue[][]>(
    (rows, { values }) => rows.flatMap((row) => values.map((value) => [...row, value])),
    [[]],
  );
}

export function toVariants(
  making: Making,
  combinations: readonly OptionValue[][],
  variantIds: readonly number[],
  images: readonly Image[],
): Variant[] {
  const onSale = making.random.chance(0.25);
  const unreduced = making.random.chance(0.5);
  return variantIds.map((id, index) => {
    const { plan, productId, createdMs, updatedMs, random, ids, nextNumber } = making;
    const values = combinations[index] ?? [];
    const position = index + 1;
    const number = nextNumber();
    const { company, toSku } = vendors[plan.vendor];
    const price = plan.price + sum(values);
    const inventory = toInventory(making);
    const weight = toWeight(making, values);
    const changedMs = random.chance(0.5) ? updatedMs : createdMs + Math.floor(random.next() * (updatedMs - createdMs));
    const owner = { id, resource: "variant", createdMs: createdMs + index * 1000, updatedMs: changedMs } as const;
    return {
      id,
      product_id: productId,
      inventory_item_id: ids("InventoryItem"),
      position,
      image_id: images.find((image) => image.variant_ids.includes(id))?.id ?? null,
      barcode: plan.bare || plan.digital || random.chance(0.06) ? "" : toBarcode(company, number),
      sku: toSku(number, position),
      title: values.map(({ label }) => label).join(" / "),
      price: price.toFixed(2),
      compare_at_price: onSale ? (Math.ceil(price * 1.25) - 0.05).toFixed(2) : unreduced ? price.toFixed(2) : null,
      fulfillment_service: "manual",
      ...inventory,
      requires_shipping: !plan.digital,
      taxable: !plan.digital,
      tax_code: plan.type === "Jewelry" ? "PJ030000" : "",
      ...weight,
      option1: values[0]?.label ?? null,
      option2: values[1]?.label ?? null,
      option3: values[2]?.label ?? null,
      created_at: toNewYork(createdMs),
      updated_at: toNewYork(changedMs),
      admin_graphql_api_id: toGid("ProductVariant", id),
      metafields: toMetafields(owner, toVariantMetafields(making, values), making),
    };
  });
}

const sum = (values: readonly OptionValue[]) => values.reduce((total, { extra }) => total + extra, 0);

function toInventory({ plan, random }: Making) {
  const backorder = random.chance(0.05);
  const quantity = plan.digital ? 0 : backorder ? -random.int(1, 12) : random.chance(0.08) ? 0 : random.int(3, 480);
  return {
    inventory_management: plan.digital ? null : "shopify",
    inventory_policy: backorder ? "continue" : "deny",
    inventory_quantity: quantity,
    old_inventory_quantity: random.chance(0.95) ? quantity : quantity + random.int(1, 4),
  };
}

function toWeight({ plan }: Making, values: readonly OptionValue[]) {
  const unit = plan.unit ?? "lb";
  const larger = sum(values.filter(({ option }) => weighty.has(option)));
  const weight = Number(((plan.weight * (plan.price + larger)) / plan.price).toFixed(decimals[unit]));
  return { grams: Math.round(weight * gramsOf[unit]), weight, weight_unit: unit };
}

/** A UPC: the company, five digits and the digit that checks them. */
function toBarcode(company: string, number: number): string {
  const digits = `${company}${`${number}`.slice(-5)}`;
  const weighed = [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 3 : 1), 0);
  return `${digits}${(10 - (weighed % 10)) % 10}`;
}
