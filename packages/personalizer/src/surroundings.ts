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

const events = ["pagehide", "pageshow", "online"];

/** Watches the page while its element is in it. */
export class Surroundings {
  readonly #observer: MutationObserver;
  readonly #onEvent: (event: Event) => void;

  /**
   * @param onLeave the shopper leaves the page, which the browser may keep
   * @param onReturn the page came back from the browser's cache, or the network did
   */
  constructor(onLanguage: () => void, onLeave: () => void, onReturn: () => void) {
    this.#observer = new MutationObserver(onLanguage);
    this.#onEvent = ({ type, persisted }: Event & { persisted?: boolean }) => {
      if (type === "pagehide") onLeave();
      else if (type === "online" || persisted) onReturn();
    };
  }

  /** @param isOn whether the element is in the page */
  watch(isOn: boolean): void {
    if (isOn) this.#observer.observe(document.documentElement, { attributeFilter: ["lang"] });
    else this.#observer.disconnect();
    for (const type of events) window[isOn ? "addEventListener" : "removeEventListener"](type, this.#onEvent);
  }
}
