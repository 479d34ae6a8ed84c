/**
 * Creates an element. Data reaches the page only through text and through attributes that cannot
 * run scripts.
 */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/** Sets the attributes; undefined removes one. */
export function setAttributes(element: Element, attributes: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value);
  }
}

/** Replaces the text only if it differs, so screen readers do not announce it again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Adds the element as the first child, or removes it. Its siblings keep their focus. */
export function placeFirst(element: Element, parent: Element, isPresent: boolean): void {
  if (!isPresent) element.remove();
  else if (element.parentNode !== parent) parent.prepend(element);
}
