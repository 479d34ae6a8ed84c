/** Undefined for a text that is not JSON. Anything but null and undefined can be read like an object. */
export function parseJson(text: unknown): Readonly<Record<string, unknown>> | null | undefined {
  try {
    return JSON.parse(`${text}`);
  } catch {
    return undefined;
  }
}
