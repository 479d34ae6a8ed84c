import type { Migration } from "../../engine.ts";
import { noteUnusableReads } from "../../migrations/2026-11-24-products.ts";

export const products: Migration = { name: "2026-11-24-products", statements: noteUnusableReads };
