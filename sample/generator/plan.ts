import type { collections } from "./collections.ts";
import type { Family } from "./offers.ts";
import type { Vendor } from "./vendors.ts";

/**
 * What a merchant decides about a product; the rest of it is derived. A text marked "list" is separated by bars.
 */
export interface ProductPlan {
  readonly title: string;
  readonly vendor: Vendor;
  readonly type: string;
  readonly collection?: keyof typeof collections;
  readonly ware: string;
  readonly shape: string;
  readonly color: string;
  /** List of paragraphs. */
  readonly copy: string;
  /** List. */
  readonly bullets: string;
  /** List. */
  readonly includes: string;
  /** Name → list of values; "Large +20" costs 20 dollars more than the price. */
  readonly options?: Readonly<Record<string, string>>;
  readonly price: number;
  readonly weight: number;
  readonly unit?: WeightUnit;
  readonly images: number;
  /** List. */
  readonly tags?: string;
  readonly offers?: Family;
  readonly status?: "draft" | "archived";
  /** Only begun to be entered: no copy, tags or barcodes yet. */
  readonly bare?: boolean;
  /** Created in this year; any year where not given. */
  readonly year?: number;
  readonly template?: string;
  /** Sent by mail as a code: nothing to ship, tax or count. */
  readonly digital?: boolean;
}

export type WeightUnit = "lb" | "oz" | "kg" | "g";

export const gramsOf: Readonly<Record<WeightUnit, number>> = { lb: 453.59237, oz: 28.349523125, kg: 1000, g: 1 };

export function toList(text: string): string[] {
  return text.split("|").map((item) => item.replace(/\s+/g, " ").trim());
}

export interface OptionValue {
  readonly option: string;
  readonly label: string;
  /** Dollars on top of the product's price. */
  readonly extra: number;
}

export interface OptionPlan {
  readonly name: string;
  readonly values: readonly OptionValue[];
}

export function toOptionPlans(options: ProductPlan["options"]): OptionPlan[] {
  if (options === undefined)
    return [{ name: "Title", values: [{ option: "Title", label: "Default Title", extra: 0 }] }];
  return Object.entries(options).map(([name, values]) => ({
    name,
    values: toList(values).map((value) => {
      const [label = value, extra = "0"] = value.split(" +");
      return { option: name, label, extra: Number(extra) };
    }),
  }));
}
