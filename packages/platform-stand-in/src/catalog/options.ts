import { roll } from "./random.ts";
import type { ProductSource } from "./recipe.ts";
import type { OptionRecord, VariantRecord } from "./records.ts";
import { optionNames, optionValues } from "./words.ts";

/**
 * Number of values of each option, slowest-changing first; empty if there is only the default
 * variant.
 */
function radicesOf(source: ProductSource): number[] {
  const variants = source.originalShape.variants;
  if (variants <= 1) return [];
  const options = variants < 4 ? 1 : variants > 60 ? 3 : 1 + roll(source.base, 12, variants < 8 ? 2 : 3);
  const each = Math.ceil(variants ** (1 / options));
  const faster = Array.from({ length: options - 1 }, () => each);
  return [Math.ceil(variants / each ** (options - 1)), ...faster];
}

export function listOptions(source: ProductSource): OptionRecord[] {
  const radices = radicesOf(source);
  if (radices.length === 0) {
    return [{ id: optionId(source, 1), name: "Title", position: 1, values: ["Default Title"] }];
  }
  let combinations = radices.reduce((product, radix) => product * radix, 1);
  return radices.map((radix, index) => {
    combinations /= radix;
    // Only values in use are listed; variants that an edit adds get new values of the first option.
    const used = Math.ceil(source.shape.variants / combinations);
    const count = index === 0 ? used : Math.min(radix, used);
    const values = Array.from({ length: count }, (_, digit) => nameValue(index, digit));
    return { id: optionId(source, index + 1), name: nameOf(index), position: index + 1, values };
  });
}

export function selectOptions(source: ProductSource, position: number): VariantRecord["selectedOptions"] {
  const radices = radicesOf(source);
  if (radices.length === 0) return [{ name: "Title", value: "Default Title" }];
  let rest = position - 1;
  const digits = radices.map(() => 0);
  for (let index = radices.length - 1; index > 0; index -= 1) {
    const radix = radices[index] ?? 1;
    digits[index] = rest % radix;
    rest = Math.floor(rest / radix);
  }
  digits[0] = rest;
  return digits.map((digit, index) => ({ name: nameOf(index), value: nameValue(index, digit) }));
}

function optionId(source: ProductSource, position: number): string {
  return `gid://shopify/ProductOption/${source.ids.option(position)}`;
}

function nameOf(index: number): string {
  return optionNames[index] ?? `Option ${index + 1}`;
}

function nameValue(index: number, digit: number): string {
  return optionValues[index]?.[digit] ?? `${nameOf(index)} ${digit + 1}`;
}
