import type { Entry } from "./selection.ts";

const slot = "entry";

/**
 * Shows form entries as hidden inputs inside the element. Scripts that read the controls of a form,
 * such as `serialize()` of jQuery, skip custom elements. They come first, where React ignores them
 * when it takes over what a server rendered.
 */
export function showEntries(element: Element, entries: readonly Entry[]): void {
  const inputs = [...element.children].filter((child) => child.slot === slot) as HTMLInputElement[];
  const form = element.getAttribute("form");
  let last: Element | undefined;
  for (const [name, value] of entries) {
    const input = inputs.shift() ?? Object.assign(document.createElement("input"), { type: "hidden", slot });
    if (input.parentNode !== element) last ? last.after(input) : element.prepend(input);
    set(input, { name, value, form });
    last = input;
  }
  for (const input of inputs) input.remove();
}

/** Changes only what differs, because pages observe their forms. */
function set(input: Element, attributes: Readonly<Record<string, string | null>>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === input.getAttribute(name)) continue;
    if (value === null) input.removeAttribute(name);
    else input.setAttribute(name, value);
  }
}
