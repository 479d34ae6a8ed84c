/** The form of a language tag; its meaning is checked where it matters. */
const wellFormed = /^[a-z]{2,8}(-[a-z\d]{1,8}){0,7}$/i;

/**
 * A language tag (BCP 47) in its usual form: `FR-ca` becomes `fr-CA`.
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

/** A locale and those that RFC 4647, section 3.4, looks up next: `zh-Hant-TW`, `zh-Hant`, `zh`. */
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

/** The best of the offered locales for a requested one (RFC 4647, section 3.4). */
export function lookUpLocale(
  requested: string,
  offered: { has(locale: string): boolean },
  defaultLocale: string,
): string {
  if (offered.has(requested)) return requested;
  return listLookups(requested).find((locale) => offered.has(locale)) ?? defaultLocale;
}
