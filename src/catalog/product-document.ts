import type { z } from "zod";
import type { Product } from "../contract/product.ts";
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
  const { data, error } = productSchema.safeParse(normalizeProduct(document), { reportInput: true });
  const faults = error === undefined ? findFaults(data) : error.issues.map(toFault);
  return data !== undefined && faults.length === 0 ? { product: data } : { problems: toProblems(faults, document) };
}

const statuses = ["active", "archived", "draft", "unlisted"];

/** No export of a platform has these values, although the contract allows them. */
function findFaults(product: Product): Fault[] {
  const faults = [...findForeignParts(product), ...findForeignNodes(product)];
  if (!statuses.includes(product.status)) {
    faults.push({ path: ["status"], reason: `expected one of ${statuses.join(", ")}`, value: product.status });
  }
  for (const [index, image] of product.images.entries()) {
    for (const name of ["width", "height"] as const) {
      if (image[name] >= 0) continue;
      faults.push({ path: ["images", index, name], reason: "expected 0 or more", value: image[name] });
    }
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

function nameOf(document: unknown): string {
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
