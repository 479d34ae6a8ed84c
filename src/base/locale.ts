/** Checks only the form of a language tag; its meaning is checked where it matters. */
const wellFormed = /^[a-z]{2,8}(-[a-z\d]{1,8}){0,7}$/i;

/**
 * Normalizes a language tag (BCP 47): `FR-ca` becomes `fr-CA`.
 * @returns undefined if it is not one
 */
export function toLocale(text: string): string | undefined {
  if (!wellFormed.test(text)) return undefined;
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}

/** The lookup sequence of RFC 4647, section 3.4: `zh-Hant-TW`, `zh-Hant`, `zh`. */
export function listLookups(locale: string): string[] {
  const parts = locale.split("-");
  const found: string[] = [];
  while (parts.length > 0) {
    found.push(parts.join("-"));
    parts.pop();
    // A tag never ends with a singleton, such as the `u` of `de-u-co-phonebk`.
    if (parts.at(-1)?.length === 1) parts.pop();
  }
  return found;
}

export function lookUpLocale(
  requested: string,
  offered: { has(locale: string): boolean },
  defaultLocale: string,
): string {
  return listLookups(requested).find((locale) => offered.has(locale)) ?? defaultLocale;
}
