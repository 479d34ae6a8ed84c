import type { Personalization } from "../../client/src/types.ts";

/** Whether a value has the shape of a response of `GET /api/v1/products/pz/:sku`. */
export function isPersonalization(value: unknown): value is Personalization {
  return (
    hasRows(value, "pzlines", "sku_id style_code style_display_seq style_sku_status") &&
    hasRows(value, "pzstyles", "style_code line_status line_display_seq choice_type instruct_text") &&
    hasRows(value, "pzchoices", "choice_type choice_status choice_display_seq choice_value")
  );
}

function hasRows(value: unknown, list: string, fields: string): boolean {
  const rows = fieldOf(value, list);
  const isRow = (row: unknown) => fields.split(" ").every((field) => typeof fieldOf(row, field) === "string");
  return Array.isArray(rows) && rows.every(isRow);
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
