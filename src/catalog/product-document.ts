import type { z } from "zod";
import type { Image, Product } from "../contract/product.ts";
import { productSchema } from "../contract/product.ts";
import type { Id } from "../contract/product-values.ts";
import { normalizeProduct } from "./product-normalization.ts";

/** A reason why a document is not a product, in the same words for each product that has it. */
export interface ProductProblem {
  /** Path such as `variants[].price`; absent when it concerns the whole document. */
  readonly field?: string;
  readonly reason: string;
  /** The product, the first place in it, and the value, as far as they are known. */
  readonly text?: string;
}

interface Fault {
  readonly path: readonly PropertyKey[];
  readonly reason: string;
  readonly value: unknown;
}

/** Parses a document in the contract's shape, after {@link normalizeProduct}. */
export function parseProduct(
  document: unknown,
): { product: Product; problems?: never } | { product?: never; problems: ProductProblem[] } {
  const longLists = findLongLists(document);
  if (longLists.length > 0) return { problems: toProblems(longLists, document) };
  const { data, error } = productSchema.safeParse(normalizeProduct(document), { reportInput: true });
  const faults = error === undefined ? findFaults(data) : error.issues.map(toFault);
  return data !== undefined && faults.length === 0 ? { product: data } : { problems: toProblems(faults, document) };
}

/** The lists of a product, and those of their parts. */
const lists = { images: "variant_ids", options: "values", variants: "metafields", metafields: undefined } as const;

/** No product has as many. The schema would keep each fault of each part in memory. */
const maxParts = 5000;
const maxPartsInAll = 100_000;

function findLongLists(document: unknown): Fault[] {
  const faults: Fault[] = [];
  let parts = 0;
  const partsOf = (whole: unknown, name: string, path: readonly PropertyKey[] = []): readonly unknown[] => {
    const list = (Object(whole) as Readonly<Record<string, unknown>>)[name];
    if (!Array.isArray(list)) return [];
    parts += list.length;
    if (list.length <= maxParts) return list;
    faults.push({ path: [...path, name], reason: `expected at most ${maxParts} entries`, value: list });
    return [];
  };
  for (const [name, inner] of Object.entries(lists)) {
    for (const [index, part] of partsOf(document, name).entries()) {
      if (inner !== undefined) partsOf(part, inner, [name, index]);
    }
  }
  partsOf(Object(document).image, "variant_ids", ["image"]);
  if (faults.length > 0 || parts <= maxPartsInAll) return faults;
  const reason = `expected at most ${maxPartsInAll} parts in all, such as variants and metafields`;
  return [{ path: [], reason, value: undefined }];
}

/** A character that shows something; a zero-width space, a Hangul filler, or an empty Braille cell do not. */
const visible = /[^\s\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/u;

const statuses = ["active", "archived", "draft", "unlisted"];

/**
 * No export of a platform has these values, although the contract allows them. An image may name
 * variants that are missing: an export may have only the first 100 of a product.
 */
function findFaults(product: Product): Fault[] {
  const { image, images, variants } = product;
  const isKnownImage = new Set<unknown>(images.map(({ id }) => id));
  const faults = [...findForeignParts(product), ...findForeignNodes(product), ...findRepeatedParts(product)];
  const expect = (isValid: boolean, path: PropertyKey[], reason: string, value: unknown) => {
    if (!isValid) faults.push({ path, reason, value });
  };
  const expectImage = (id: Id | null, path: PropertyKey[]) =>
    expect(id === null || isKnownImage.has(id), path, "expected the id of one of its images", id);
  expect(statuses.includes(product.status), ["status"], `expected one of ${statuses.join(", ")}`, product.status);
  for (const name of ["title", "handle"] as const) {
    expect(visible.test(product[name]), [name], "expected text", product[name]);
  }
  const places = images.map((each, index): [PropertyKey[], Image] => [["images", index], each]);
  if (image !== null) places.push([["image"], image]);
  for (const [path, { src, ...sizes }] of places) {
    const isUrl = /^https?:\/\/[^/]/i.test(src) && URL.canParse(src);
    expect(isUrl, [...path, "src"], "expected a URL that starts with http:// or https://", src);
    for (const name of ["width", "height"] as const) {
      expect(sizes[name] >= 0, [...path, name], "expected 0 or more", sizes[name]);
    }
  }
  expectImage(image?.id ?? null, ["image", "id"]);
  for (const [index, variant] of variants.entries()) {
    for (const name of ["price", "compare_at_price", "grams", "weight"] as const) {
      const value = variant[name];
      expect(!`${value}`.startsWith("-"), ["variants", index, name], "expected 0 or more", value);
    }
    expectImage(variant.image_id, ["variants", index, "image_id"]);
  }
  return faults;
}

/** Objects whose global identifier is that of another one. An image may have that of its medium. */
function findForeignNodes(product: Product): Fault[] {
  const named = (type: string, list: string, nodes: readonly Node[], path: PropertyKey[] = []) =>
    nodes.map((node, index): TypedNode => [[...path, list, index], type, node]);
  const metafieldsOf = ({ metafields }: Pick<Product, "metafields">, path?: PropertyKey[]) =>
    named("Metafield", "metafields", metafields, path);
  const nodes: TypedNode[] = [
    [[], "Product", product],
    ...named("ProductVariant", "variants", product.variants),
    ...metafieldsOf(product),
    ...product.variants.flatMap((variant, index) => metafieldsOf(variant, ["variants", index])),
  ];
  return nodes
    .filter(([, type, { id, admin_graphql_api_id: gid }]) => !gid.endsWith(`/${type}/${id}`))
    .map(([path, , { admin_graphql_api_id: value }]) => ({
      path: [...path, "admin_graphql_api_id"],
      reason: "expected the global identifier of its id",
      value,
    }));
}

type Node = Pick<Product, "id" | "admin_graphql_api_id">;
type TypedNode = [path: PropertyKey[], type: string, node: Node];

/** Parts with the id of an earlier one in the same list. */
function findRepeatedParts({ images, options, variants, metafields }: Product): Fault[] {
  const lists: [path: PropertyKey[], parts: readonly Pick<Product, "id">[]][] = [
    [["images"], images],
    [["options"], options],
    [["variants"], variants],
    [["metafields"], metafields],
  ];
  for (const [index, variant] of variants.entries())
    lists.push([["variants", index, "metafields"], variant.metafields]);
  const faults: Fault[] = [];
  for (const [path, parts] of lists) {
    const seen = new Set<Id>();
    for (const [index, { id }] of parts.entries()) {
      if (seen.has(id)) faults.push({ path: [...path, index, "id"], reason: "is used more than once", value: id });
      seen.add(id);
    }
  }
  return faults;
}

/** Parts that say that they belong to another product. */
function findForeignParts({ id, image, images, options, variants }: Product): Fault[] {
  const parts = Object.entries({ images, options, variants }).flatMap(([name, list]) =>
    list.map(({ product_id }, index): [PropertyKey[], Id] => [[name, index], product_id]),
  );
  if (image !== null) parts.push([["image"], image.product_id]);
  return parts
    .filter(([, of]) => of !== id)
    .map(([part, of]) => ({ path: [...part, "product_id"], reason: "expected the id of its product", value: of }));
}

function toFault({ path, message, input }: z.core.$ZodIssue): Fault {
  return { path, reason: input === undefined ? "is missing" : expectation(message), value: input };
}

/** Folds the faults that differ only by their places in lists. */
function toProblems(faults: readonly Fault[], document: unknown): ProductProblem[] {
  const alike = Map.groupBy(faults, ({ path, reason }) => `${formatPath(path, () => "[]")}: ${reason}`);
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const { path, reason, value } = first;
    const field = formatPath(path, () => "[]");
    const text = [
      nameOf(document),
      formatPath(path.slice(0, path.findLastIndex((key) => typeof key === "number") + 1)),
      value === undefined ? "" : `got ${describeValue(value)}`,
      others.length === 0 ? "" : `and at ${others.length} more ${others.length === 1 ? "place" : "places"}`,
    ].filter((part) => part !== "");
    return { ...(field !== "" && { field }), reason, ...(text.length > 0 && { text: text.join(", ") }) };
  });
}

function formatPath(path: readonly PropertyKey[], formatIndex = (index: number) => `[${index}]`): string {
  return path
    .map((key) => (typeof key === "number" ? formatIndex(key) : `.${String(key)}`))
    .join("")
    .slice(1);
}

/** Names a product in messages; empty if the document has neither id nor handle. */
export function nameOf(document: unknown): string {
  const { id, handle }: Readonly<Record<string, unknown>> = Object(document);
  const name = id ?? handle;
  return name == null ? "" : `product ${describeValue(name)}`;
}

const expectation = (message: string) => message.replace("Invalid input: ", "").replace(/, received .*$/, "");

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
