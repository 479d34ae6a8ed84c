/**
 * Sets properties again that a page or a framework set before the element was defined: they hide the
 * setters. Reports what a setter throws, because the page would be left without the element.
 */
export function upgrade(element: object, names: readonly string[]): void {
  for (const name of names) {
    if (!Object.hasOwn(element, name)) continue;
    const value: unknown = Reflect.get(element, name);
    Reflect.deleteProperty(element, name);
    try {
      Reflect.set(element, name, value);
    } catch (error) {
      reportError(error);
    }
  }
}
