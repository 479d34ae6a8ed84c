import { setAttribute } from "../attributes.ts";
import type { Entry } from "../selection.ts";

/**
 * Shows form entries as hidden inputs inside the element. Scripts that read the controls of a form,
 * such as `serialize()` of jQuery, skip custom elements. They come first, where React ignores them
 * when it takes over what a server rendered.
 */
export function showEntries(element: Element, entries: readonly Entry[]): void {
  const inputs = [...element.querySelectorAll("[slot=entry]")];
  const form = element.getAttribute("form");
  let last: Element | undefined;
  for (const [name, value] of entries) {
    const input = inputs.shift() ?? Object.assign(document.createElement("input"), { type: "hidden", slot: "entry" });
    if (input.parentNode !== element) last ? last.after(input) : element.prepend(input);
    for (const [attribute, text] of Object.entries({ name, value, form })) {
      // Pages observe their forms.
      if (input.getAttribute(attribute) !== text) setAttribute(input, attribute, text);
    }
    last = input;
  }
  for (const input of inputs) input.remove();
}
