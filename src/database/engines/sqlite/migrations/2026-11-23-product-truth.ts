import type { Migration } from "../../engine.ts";
import { recordProductTruth } from "../../migrations/2026-11-23-product-truth.ts";
import { columnTypes } from "../column-types.ts";

export const productTruth: Migration = {
  name: "2026-11-23-product-truth",
  statements: recordProductTruth(columnTypes),
};
