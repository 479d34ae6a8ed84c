/** Language of an element's page, such as `fr-CA`. */
export function localeOf(element: Element): string {
  const closest = element.closest<HTMLElement>("[lang]");
  const root = element.getRootNode();
  if (closest === null && root instanceof ShadowRoot) return localeOf(root.host);
  const { lang } = closest ?? document.documentElement;
  try {
    return Intl.getCanonicalLocales(lang.replaceAll("_", "-"))[0] ?? "en";
  } catch {
    return "en";
  }
}

/** Watches the page while its element is in it. */
export class Surroundings {
  readonly #observer: MutationObserver;
  readonly #onReturn: (event: Event) => void;

  /** @param onReturn the page came back from the browser's cache, or the network did */
  constructor(onLanguage: () => void, onReturn: () => void) {
    this.#observer = new MutationObserver(onLanguage);
    this.#onReturn = (event) => {
      if (event.type === "online" || (event as PageTransitionEvent).persisted) onReturn();
    };
  }

  /** Does nothing if it is watching already. */
  watch(): void {
    this.#observer.observe(document.documentElement, { attributeFilter: ["lang"] });
    for (const type of ["pageshow", "online"]) window.addEventListener(type, this.#onReturn);
  }

  stop(): void {
    this.#observer.disconnect();
    for (const type of ["pageshow", "online"]) window.removeEventListener(type, this.#onReturn);
  }
}
