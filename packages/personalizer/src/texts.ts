/** Returns the replacement for a text of the data, or else its name. */
export function translate(text: string, { texts }: { readonly texts: Readonly<Record<string, string>> }, name = text) {
  // Every object inherits properties, and data may contain their names.
  return toText(texts[text]) ?? name;
}

/** Replaces the placeholders that have a value. */
export const fillIn = (template: string, values: Readonly<Record<string, number | string | undefined>>) =>
  template.replace(/\{(\w+)\}/g, (placeholder, name: string) => `${values[name] ?? placeholder}`);

export const toText = (value: unknown) => (typeof value === "string" ? value : undefined);
