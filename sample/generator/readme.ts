import type { Personalization } from "../../src/personalization.ts";
import type { Product } from "../../src/product.ts";
import type { BrokenCase } from "./broken-case.ts";

export function toReadme(products: readonly Product[], personalization: Personalization): string {
  const { pzlines, pzstyles, pzchoices } = personalization;
  const variants = products.flatMap((product) => product.variants);
  const skus = new Set(pzlines.map(({ sku_id }) => sku_id));
  const groups = new Set(pzchoices.map(({ choice_type }) => choice_type));
  const styleCodes = new Set(pzstyles.map(({ style_code }) => style_code));
  const freeText = new Set(pzstyles.map(({ choice_type }) => choice_type).filter((type) => !groups.has(type)));
  const count = (status: string) => products.filter((product) => product.status === status).length;
  return `# Sample

The catalog and the personalization feed of Larkspur & Finch, a tableware and gift store that does not exist.

${toTable([
  ["File", "Holds"],
  ["`products.ndjson`", `${products.length} products, one a line, with ${variants.length} variants`],
  ["`personalization/pzlines.csv`", `${pzlines.length} lines of ${skus.size} SKUs`],
  ["`personalization/pzstyles.csv`", `${pzstyles.length} rows of ${styleCodes.size} styles`],
  ["`personalization/pzchoices.csv`", `${pzchoices.length} choices in ${groups.size} groups`],
  ["`broken/`", "Cases that must be refused; see its [README](broken/README.md)"],
])}
Of the products, ${count("active")} are active, ${count("draft")} are drafts and ${count("archived")} are archived.
Of the SKUs, ${variants.length - skus.size} offer no personalization. ${freeText.size} choice types have no choices: \
the customer types the text.
The rows of the feed are not in display order.

## Worth trying

${toTable([["What", "Where"], ...toNotable(products, personalization)])}
## Regenerate

All of this folder but \`generate.ts\` and \`generator/\` is output, this file too. The same code gives the same bytes.

\`\`\`sh
node_modules/.bin/bun sample/generate.ts
\`\`\`
`;
}

function toNotable(products: readonly Product[], personalization: Personalization): [string, string][] {
  const skus = products.flatMap((product) => product.variants.map(({ sku }) => sku));
  const sizeOf = new Map<string, number>();
  for (const { choice_type } of personalization.pzchoices) sizeOf.set(choice_type, (sizeOf.get(choice_type) ?? 0) + 1);
  const typesOf = new Map(skus.map((sku) => [sku, toChoiceTypes(sku, personalization)]));
  const findProduct = (wanted: (product: Product) => boolean) => {
    const product = products.find(wanted);
    return product === undefined ? "—" : `\`${product.id}\` (${product.title})`;
  };
  const findSku = (wanted: (sku: string, choiceTypes: readonly string[]) => boolean) =>
    `\`${skus.find((sku) => wanted(sku, typesOf.get(sku) ?? [])) ?? "—"}\``;
  return [
    ["Product with 40 variants", findProduct(({ variants }) => variants.length === 40)],
    ["Product with 12 images", findProduct(({ images }) => images.length === 12)],
    ["Product with no image", findProduct(({ image }) => image === null)],
    ["SKU with free text", findSku((_, types) => types.some((type) => !sizeOf.has(type)))],
    ["SKU with a group of 40 choices", findSku((_, types) => types.some((type) => sizeOf.get(type) === 40))],
    ["SKU with a space and a slash", findSku((sku, types) => / .*\//.test(sku) && types.length > 0)],
    ["SKU with no personalization", findSku((_, types) => types.length === 0)],
  ];
}

function toChoiceTypes(sku: string, { pzlines, pzstyles }: Personalization): string[] {
  const styleCodes = new Set(pzlines.filter(({ sku_id }) => sku_id === sku).map(({ style_code }) => style_code));
  return pzstyles.filter(({ style_code }) => styleCodes.has(style_code)).map(({ choice_type }) => choice_type);
}

export function toBrokenReadme(cases: readonly BrokenCase[]): string {
  const rows = cases.map(({ file, line, field, reason }) => [
    `\`${file}\``,
    `${line ?? "—"}`,
    field === undefined ? "—" : `\`${field}\``,
    reason,
  ]);
  return `# Broken cases

Small pieces of the sample with one fault each; \`sample/generate.ts\` writes them. Lines are counted from 1. The other
files of a folder are sound.

${toTable([["File", "Line", "Field", "What is wrong"], ...rows])}`;
}

/** A table whose columns line up, as the formatter wants it; the first row is the header. */
function toTable([header = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)));
  const dashes = widths.map((width) => "-".repeat(width));
  return [header, dashes, ...rows]
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |\n`)
    .join("");
}
