import { formatNames } from "../base/format.ts";
import { toJson } from "../base/json.ts";
import { excerpt } from "../jobs/import-report.ts";

/** Other forms of products that people mistake for an export, recognized so that one message says it all. */

const remedy =
  "export the products from the platform's REST Admin API, or connect the shop, as described under Import your own data; nothing was changed";

/** Recognizes from its beginning that a file is not JSON. */
export function findForeignText(start: string): string | undefined {
  const text = start.trimStart();
  if (text === "" || /^[[{]/.test(text)) return undefined;
  if (text.startsWith("<")) {
    return "not JSON but a web page, perhaps of an error or a sign-in; open the address in a browser, and export the products again; nothing was changed";
  }
  const [firstLine = ""] = text.split(/\r?\n/, 1);
  if (/^("?[\p{L}][^",;\t]*"?[,;\t]){2}/u.test(firstLine)) {
    return `not JSON but CSV, which lacks the IDs of products and variants; ${remedy}`;
  }
  return `not JSON: expected { or [ at its beginning, got ${excerpt(firstLine)}; ${remedy}`;
}

type Fields = Readonly<Record<string, unknown>>;

/** Recognizes a document that cannot be a product of an export. */
export function findForeignForm(document: unknown): string | undefined {
  const fields: Fields = Object(document);
  if (isOfStorefront(fields)) {
    return `looks like the public storefront's JSON, such as its products.json, which lacks status, inventory, and other fields; ${remedy}`;
  }
  if ((!("id" in fields) && "data" in fields) || `${fields.id}`.startsWith("gid://")) {
    return `looks like a response or bulk export of the GraphQL Admin API, whose fields have other names; ${remedy}`;
  }
  if (!("id" in fields) && "errors" in fields) {
    return `an error response of the platform instead of products: ${excerpt(toJson(fields.errors))}; fix its cause, and export the products again; nothing was changed`;
  }
  if (isObject(document) && !["id", "title", "handle"].some((name) => name in fields)) {
    return `holds no product: expected its fields, {"product": …}, or {"products": […]}, got ${describeFields(fields)}; ${remedy}`;
  }
  return undefined;
}

const isObject = (document: unknown) => typeof document === "object" && document !== null && !Array.isArray(document);

function describeFields(fields: Fields): string {
  const names = Object.keys(fields);
  return names.length === 0 ? "no fields" : formatNames(names);
}

/** The storefront's JSON lacks the status of a product and the inventory of its variants. */
function isOfStorefront(fields: Fields): boolean {
  const { variants } = fields;
  return (
    ["id", "handle"].every((name) => name in fields) &&
    !["status", "admin_graphql_api_id"].some((name) => name in fields) &&
    Array.isArray(variants) &&
    variants.length > 0 &&
    variants.every((variant) => !["inventory_item_id", "inventory_policy"].some((name) => name in Object(variant)))
  );
}
