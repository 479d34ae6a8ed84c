/** Dispatches an event across shadow roots. Returns false if a listener prevents its default. */
export function dispatch(element: Element, type: string, detail: unknown): boolean {
  return element.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable: true }));
}

/** Stops the event at the document: at the window, `error` means an error of the page's scripts. */
export function dispatchError(element: Element, detail: unknown): void {
  const stop = (event: Event) => event.stopPropagation();
  document.addEventListener("error", stop, { once: true });
  dispatch(element, "error", detail);
  document.removeEventListener("error", stop);
}
