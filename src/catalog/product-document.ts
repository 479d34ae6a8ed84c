import type { z } from "zod";
import type { Product } from "../contract/product.ts";
import { productSchema } from "../contract/product.ts";
import type { Id } from "../contract/product-values.ts";

export interface ProductProblem {
  /** Path such as `variants[3].price`; absent when it concerns the whole document. */
  readonly field?: string;
  readonly reason: string;
}

/**
 * Parses a document in the contract's shape. Fields that exports of a platform leave out get
 * defaults: `metafields` (none), `image` (the first image), `tax_code` (empty). Text that may be
 * null becomes empty.
 */
export function parseProduct(
  document: unknown,
): { product: Product; problems?: never } | { product?: never; problems: ProductProblem[] } {
  const { data, error } = productSchema.safeParse(withDefaults(document), { reportInput: true });
  if (error !== undefined) return { problems: error.issues.map(toProblem) };
  const problems = findForeignParts(data);
  return problems.length === 0 ? { product: data } : { problems };
}

/** Finds parts that name another product as their owner. */
function findForeignParts({ id, image, images, options, variants }: Product): ProductProblem[] {
  const parts = Object.entries({ images, options, variants }).flatMap(([name, list]) =>
    list.map(({ product_id }, index): [string, Id] => [`${name}[${index}]`, product_id]),
  );
  if (image !== null) parts.push(["image", image.product_id]);
  return parts
    .filter(([, of]) => of !== id)
    .map(([part, of]) => ({ field: `${part}.product_id`, reason: `expected the id of its product, ${id}, got ${of}` }));
}

type Document = Record<string, unknown>;

const isDocument = (value: unknown): value is Document =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function withDefaults(document: unknown): unknown {
  if (!isDocument(document)) return document;
  const { images, variants } = document;
  return {
    metafields: [],
    ...document,
    ...emptyWhenNull(document, "body_html", "product_type", "tags"),
    image: document.image ?? firstImage(images),
    variants: Array.isArray(variants) ? variants.map(withVariantDefaults) : variants,
  };
}

function withVariantDefaults(variant: unknown): unknown {
  if (!isDocument(variant)) return variant;
  return { metafields: [], tax_code: "", ...variant, ...emptyWhenNull(variant, "barcode", "sku", "tax_code") };
}

function emptyWhenNull(document: Document, ...keys: string[]): Document {
  return Object.fromEntries(keys.filter((key) => document[key] === null).map((key) => [key, ""]));
}

function firstImage(images: unknown): unknown {
  if (!Array.isArray(images)) return null;
  return images.find((image) => isDocument(image) && image.position === 1) ?? images[0] ?? null;
}

function toProblem(issue: z.core.$ZodIssue): ProductProblem {
  const field = issue.path.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : path === "" ? String(key) : `${path}.${String(key)}`),
    "",
  );
  const { input } = issue;
  const reason = input === undefined ? "is missing" : `${expectation(issue.message)}, got ${describeValue(input)}`;
  return field === "" ? { reason } : { field, reason };
}

const expectation = (message: string) => message.replace("Invalid input: ", "").replace(/, received .*$/, "");

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
