/** Makes an element. Data gets into the page only here, as attributes that run nothing and as text. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Replaces the text only when it differs, so that what is unchanged is not announced again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
