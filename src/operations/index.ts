import { form } from "./form.ts";
import { histories } from "./histories.ts";
import type { Operation } from "./operation.ts";
import { personalization } from "./personalization.ts";
import { personalizations } from "./personalizations.ts";
import { products } from "./products.ts";
import { productsByHandle } from "./products-by-handle.ts";

/** In the order of the documentation, the core first. */
export const operations: readonly Operation[] = [
  personalization,
  histories,
  products,
  personalizations,
  form,
  productsByHandle,
];
