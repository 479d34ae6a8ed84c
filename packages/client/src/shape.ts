import type { FoundProduct, Histories, LocalizedForm, Personalization, Personalizations } from "./types.ts";

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Whether fields are lists of objects. */
const hasLists = (value: unknown, ...fields: string[]): boolean =>
  isObject(value) &&
  fields.every((field) => {
    const list = value[field];
    return Array.isArray(list) && list.every(isObject);
  });

export const isPersonalization = (body: unknown): body is Personalization =>
  hasLists(body, "pzlines", "pzstyles", "pzchoices");

export const isPersonalizations = (body: unknown): body is Personalizations =>
  hasLists(body, "personalizations") && (body as Personalizations).personalizations.every(isPersonalization);

export const isLocalizedForm = (body: unknown): body is LocalizedForm =>
  hasLists(body, "styles") &&
  (body as LocalizedForm).styles.every(
    (style) => hasLists(style, "lines") && style.lines.every((line) => hasLists(line, "choices")),
  );

export const isHistories = (body: unknown): body is Histories => hasLists(body, "histories");

export const isFoundProduct = <Id>(body: unknown): body is FoundProduct<Id> =>
  isObject(body) &&
  typeof body.shop === "string" &&
  hasLists(body.product, "images", "options", "variants", "metafields");
