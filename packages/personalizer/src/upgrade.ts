/**
 * Sets properties again that a page or a framework set before the element was defined: they hide the
 * setters. Reports what a setter throws, because the page would be left without the element.
 */
export function upgrade(element: object, names: readonly string[]): void {
  const properties = element as Record<string, unknown>;
  for (const name of names) {
    if (!Object.hasOwn(properties, name)) continue;
    const value = properties[name];
    delete properties[name];
    try {
      properties[name] = value;
    } catch (error) {
      reportError(error);
    }
  }
}
