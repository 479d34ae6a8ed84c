import type { Product } from "../../src/product.ts";
import type { BrokenCase } from "./broken-case.ts";

export function toBrokenProducts(products: readonly Product[]): BrokenCase[] {
  const [first, second, third] = products.map(trim);
  if (!first || !second || !third) throw new Error("The broken cases need three products.");
  return [
    toMissingTitle(first, second, third),
    toPriceNumber(first, second),
    toTruncated(first, second),
    toBadTimestamp(first),
  ];
}

function toMissingTitle(first: Product, second: Product, third: Product): BrokenCase {
  const text = [first, { ...second, title: undefined }, third]
    .map((product) => `${JSON.stringify(product)}\n`)
    .join("");
  const reason = "The second of three products has no title.";
  return toCase("missing-title.ndjson", text, 2, "title", reason);
}

function toPriceNumber(first: Product, second: Product): BrokenCase {
  const variants = second.variants.map((variant) => ({ ...variant, price: Number(variant.price) }));
  const text = toPretty([first, { ...second, variants }]);
  const reason = "The second product’s price is a number, not a text.";
  return toCase("price-number.json", text, lineOf(text, /"price": \d/), "variants[0].price", reason);
}

function toTruncated(first: Product, second: Product): BrokenCase {
  const whole = toPretty([first, second]);
  const text = whole.slice(0, Math.floor(whole.length * 0.6));
  const reason = "The text ends within the second product: not JSON.";
  return toCase("truncated.json", text, text.split("\n").length, undefined, reason);
}

function toBadTimestamp(product: Product): BrokenCase {
  const text = toPretty({ product: { ...product, updated_at: product.updated_at.replace(/[+-]\d\d:\d\d$/, "Z") } });
  const reason = "The timestamp ends in `Z`, not in a numeric UTC offset.";
  return toCase("bad-timestamp.json", text, lineOf(text, /Z",$/), "updated_at", reason);
}

const toCase = (file: string, text: string, line: number, field: string | undefined, reason: string): BrokenCase => ({
  files: { [file]: text },
  file,
  line,
  field,
  reason,
});

const toPretty = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const lineOf = (text: string, pattern: RegExp) => text.split("\n").findIndex((line) => pattern.test(line)) + 1;

/** One variant, one metafield and no image: what a reader can take in. */
function trim(product: Product): Product {
  const variants = product.variants.slice(0, 1).map((variant) => ({ ...variant, image_id: null, metafields: [] }));
  const [variant] = variants;
  const chosen = [variant?.option1, variant?.option2, variant?.option3];
  return {
    ...product,
    images: [],
    image: null,
    options: product.options.map((option, index) => ({ ...option, values: [chosen[index] ?? ""] })),
    variants,
    metafields: product.metafields.slice(0, 1),
  };
}
