import { form } from "./form/operation.ts";
import { histories } from "./histories/operation.ts";
import type { Operation } from "./operation.ts";
import { personalization } from "./personalization/operation.ts";
import { personalizations } from "./personalizations/operation.ts";
import { products } from "./products/operation.ts";
import { productsByHandle } from "./products-by-handle/operation.ts";

/** All operations, the core first, in the order in which they are documented. */
export const operations: readonly Operation[] = [
  personalization,
  histories,
  products,
  personalizations,
  form,
  productsByHandle,
];
