/** @param value null or undefined to remove the attribute */
export function setAttribute(element: Element, name: string, value: string | null | undefined): void {
  if (value == null) element.removeAttribute(name);
  else element.setAttribute(name, value);
}
