import { toForm } from "../../../client/src/form.ts";
import type { LocalizedForm, Personalization } from "../../../client/src/types.ts";
import type { OptionStyle } from "./styles.ts";

/** Reads a response of either operation; returns undefined for anything else. */
export const readOptions = (body: unknown): readonly OptionStyle[] | undefined =>
  isForm(body) ? body.styles : isPersonalization(body) ? toForm(body) : undefined;

/** Whether a value has the shape of a response of `GET /api/v1/products/form/:locale/:sku`. */
export const isForm = (value: unknown): value is LocalizedForm =>
  hasRows(value, "styles", "style_code name", (style) =>
    hasRows(style, "lines", "instruct_text name", (line) => hasRows(line, "choices", "choice_value name")),
  );

/** Whether a value has the shape of a response of `GET /api/v1/products/pz/:sku`. */
export const isPersonalization = (value: unknown): value is Personalization =>
  hasRows(value, "pzlines", "style_code") &&
  hasRows(value, "pzstyles", "style_code choice_type instruct_text") &&
  hasRows(value, "pzchoices", "choice_type choice_value");

/** @param fields of each row that must be texts */
function hasRows(value: unknown, list: string, fields: string, isRow: (row: unknown) => boolean = () => true): boolean {
  const rows = fieldOf(value, list);
  const hasFields = (row: unknown) => fields.split(" ").every((field) => typeof fieldOf(row, field) === "string");
  return Array.isArray(rows) && rows.every((row) => hasFields(row) && isRow(row));
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
