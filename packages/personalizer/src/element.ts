import type { FormStyle } from "../../client/src/form.ts";
import { make, setText } from "./dom.ts";
import { FormView } from "./form-view.ts";
import { english, type Labels, wordNames } from "./labels.ts";
import { LoadError, loadForm } from "./load.ts";
import {
  type Fault,
  type Field,
  fitSelection,
  keyOf,
  listFaults,
  listProperties,
  nothingSelected,
  parseState,
  type Selection,
  type Style,
  styleOf,
  toEntries,
  toState,
  toStyles,
} from "./selection.ts";
import { styleSheet } from "./style.ts";

type Phase = "loading" | "ready" | "empty" | "failed";

/** How long the summary, which is read out, waits for the next key. */
const summaryDelayMs = 400;

/** The API is beside the script, also where that is named by its version. */
const defaultEndpoint = new URL("api/v1", import.meta.url.replace(/\/personalization-options\/[^/]*$/, "/")).href;

/** What was chosen, as `change` tells it and `value` has it. */
export interface PersonalizationValue {
  readonly style: string;
  readonly lines: readonly { readonly label: string; readonly value: string }[];
}

/** `<personalization-options sku="…">`; its README says what it takes, tells, and submits. */
export class PersonalizationOptions extends HTMLElement {
  static readonly formAssociated = true;
  static readonly observedAttributes = [
    "sku",
    "endpoint",
    "required",
    "texts",
    ...wordNames.map((name) => `label-${name}`),
  ];

  readonly #internals = this.attachInternals();
  readonly #fallback = make("slot");
  readonly #said = make("p");
  readonly #retry = make("button", { part: "retry", type: "button" });
  readonly #notice = make(
    "div",
    { part: "notice", role: "alert", tabindex: "-1", hidden: "" },
    ...[this.#said, this.#retry],
  );
  readonly #body = make("div", { part: "body" });
  #labels: Partial<Labels> = {};
  #phase: Phase = "empty";
  #form: readonly FormStyle[] = [];
  #mark = "";
  #styles: readonly Style[] = [];
  #selection = nothingSelected;
  #view: FormView | undefined;
  /** Whether what is missing is said: not before someone tried to go on without it. */
  #strict = false;
  #disabled = false;
  #loading: AbortController | undefined;
  #loadIsDue = false;
  #submits: AbortController | undefined;
  #summaryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [styleSheet()];
    root.append(this.#fallback, this.#notice, this.#body);
    root.addEventListener("change", () => this.#tell("change", { value: this.value, complete: this.#isComplete() }));
    root.addEventListener("keydown", (event) => this.#submitOnEnter(event as KeyboardEvent));
    this.#retry.addEventListener("click", () => this.reload());
    this.addEventListener("invalid", (event) => this.#onInvalid(event));
  }

  get sku(): string {
    return this.getAttribute("sku") ?? "";
  }
  set sku(sku: string) {
    this.setAttribute("sku", sku);
  }

  get endpoint(): string {
    return this.getAttribute("endpoint") || defaultEndpoint;
  }
  set endpoint(endpoint: string) {
    this.setAttribute("endpoint", endpoint);
  }

  get required(): boolean {
    return this.hasAttribute("required");
  }
  set required(required: boolean) {
    this.toggleAttribute("required", required);
  }

  /** Words and texts in other words; what is left out is as the attributes say, or English. */
  get labels(): Partial<Labels> {
    return this.#labels;
  }
  set labels(labels: Partial<Labels>) {
    this.#labels = labels;
    this.#render();
  }

  /** Null where nothing is personalized. */
  get value(): PersonalizationValue | null {
    const style = styleOf(this.#selection, this.#offered);
    if (style === undefined) return null;
    const lines = listProperties(this.#selection, style).map(([{ label }, value]) => ({ label, value }));
    return { style: style.code, lines };
  }

  get form(): HTMLFormElement | null {
    return this.#internals.form;
  }
  get validity(): ValidityState {
    return this.#internals.validity;
  }
  get validationMessage(): string {
    return this.#internals.validationMessage;
  }
  get willValidate(): boolean {
    return this.#internals.willValidate;
  }

  checkValidity(): boolean {
    return this.#internals.checkValidity();
  }

  /** Where something is missing, says so there and puts the focus there. */
  reportValidity(): boolean {
    if (this.checkValidity()) return true;
    this.#strict = true;
    this.#show();
    this.focus();
    return false;
  }

  /** Focuses what is missing first, else the first control. */
  override focus(options?: FocusOptions): void {
    const target = this.#view && this.#phase === "ready" ? this.#view.controlOf(this.#faults()[0]) : this.#hindered();
    target?.focus(options);
  }

  /** Asks the service again. */
  async reload(): Promise<void> {
    this.#loading?.abort();
    if (!this.isConnected) return;
    if (this.sku === "") return this.#settle("empty", []);
    const loading = new AbortController();
    this.#loading = loading;
    this.#enter("loading");
    this.#show();
    try {
      const { form, mark } = await loadForm(this.endpoint, this.sku, loading.signal);
      if (loading.signal.aborted) return;
      this.#mark = mark;
      this.#settle(form.length > 0 ? "ready" : "empty", form);
      this.#tell("ready", { styles: form.length });
    } catch (error) {
      if (loading.signal.aborted) return;
      if (!(error instanceof LoadError)) throw error;
      this.#settle("failed", []);
      this.#tellError(error);
    }
  }

  connectedCallback(): void {
    if (this.#view === undefined) this.#loadSoon();
  }

  disconnectedCallback(): void {
    clearTimeout(this.#summaryTimer);
    this.#loading?.abort();
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return;
    if (name === "sku" || name === "endpoint") this.#loadSoon();
    else this.#render();
  }

  formAssociatedCallback(form: HTMLFormElement | null): void {
    this.#submits?.abort();
    this.#submits = new AbortController();
    // Themes send the form by scripts of their own and mark it novalidate: this comes before them, and holds all the same.
    form?.addEventListener("submit", (event) => this.#onSubmit(event), { capture: true, signal: this.#submits.signal });
  }

  formDisabledCallback(disabled: boolean): void {
    this.#disabled = disabled;
    this.#show();
  }

  formResetCallback(): void {
    this.#strict = false;
    this.#select(nothingSelected);
  }

  formStateRestoreCallback(state: unknown): void {
    this.#select(parseState(state));
  }

  /** The attributes of one moment make one request. */
  #loadSoon(): void {
    if (this.#loadIsDue) return;
    this.#loadIsDue = true;
    queueMicrotask(() => {
      this.#loadIsDue = false;
      void this.reload();
    });
  }

  #enter(phase: Phase): void {
    const { states } = this.#internals;
    try {
      states?.delete(this.#phase);
      states?.add(phase);
    } catch {
      // Browsers before 2024 refuse names without dashes; nothing but the page's own styles depends on them.
    }
    this.#phase = phase;
  }

  #settle(phase: Phase, form: readonly FormStyle[]): void {
    const hadFocus = this.#notice.matches(":focus-within");
    this.#form = form;
    this.#notice.hidden = !(phase === "failed" && this.required);
    this.#enter(phase);
    this.#render();
    if (hadFocus && phase === "ready") this.focus();
  }

  #words(): Labels {
    const attributes = wordNames.map((name) => [name, this.getAttribute(`label-${name}`) ?? english[name]]);
    return { texts: parseTexts(this.getAttribute("texts")), ...Object.fromEntries(attributes), ...this.#labels };
  }

  /** Makes the form anew from the answer; what is selected stays. */
  #render(): void {
    const labels = this.#words();
    this.#styles = toStyles(this.#form, labels);
    this.#view =
      this.#styles.length === 0
        ? undefined
        : new FormView(this.#styles, labels, this.required, {
            onStyle: (style) => this.#onStyle(style),
            onValue: (style, field, value) => this.#onValue(style, field, value),
          });
    this.#body.replaceChildren(...(this.#view ? [this.#view.element] : []));
    this.#select(this.#selection);
  }

  #onStyle(style: Style | undefined): void {
    this.#strict = false;
    this.#select({ ...this.#selection, style: style?.code });
  }

  #onValue(style: Style, field: Field, value: string): void {
    const values = new Map(this.#selection.values).set(keyOf(style, field), value);
    this.#select({ style: style.code, values }, field.choices.length === 0 ? summaryDelayMs : 0);
  }

  #select(selection: Selection, delayMs = 0): void {
    // Without the answer it is not known yet what of it is on offer.
    this.#selection = this.#offered.length > 0 ? fitSelection(selection, this.#styles, this.required) : selection;
    this.#show();
    clearTimeout(this.#summaryTimer);
    const summarize = () => this.#view?.showSummary(this.#selection);
    if (delayMs === 0) summarize();
    else this.#summaryTimer = setTimeout(summarize, delayMs);
  }

  get #offered(): readonly Style[] {
    return this.#phase === "ready" ? this.#styles : [];
  }

  #faults(): Fault[] {
    return listFaults(this.#selection, this.#offered, this.required);
  }

  #isComplete(): boolean {
    return this.#faults().length === 0;
  }

  /** Brings the page and the form's idea of the element in line with what is the case. */
  #show(): void {
    const labels = this.#words();
    const disabled = this.#disabled || this.#phase === "loading";
    this.#fallback.hidden = this.#view !== undefined || this.#phase === "empty";
    setText(this.#said, this.#state(labels));
    setText(this.#retry, labels.retry);
    this.#retry.disabled = this.#disabled;
    if (this.#view) this.#view.element.disabled = disabled;
    this.#view?.show(this.#selection, this.#strict ? this.#faults() : []);
    this.#submit(labels);
    this.#validate(labels);
  }

  #submit(labels: Labels): void {
    const data = new FormData();
    const entries = toEntries(this.#selection, this.#offered, labels, this.#mark);
    for (const [name, value] of entries) data.append(name, value);
    this.#internals.setFormValue(entries.length > 0 ? data : null, toState(this.#selection));
  }

  #validate(labels: Labels): void {
    const hindered = this.#hindered();
    const [fault] = this.#faults();
    if (hindered) {
      this.#internals.setValidity({ valueMissing: true }, this.#state(labels), hindered);
    } else if (fault && this.#view) {
      const flags = { [fault.reason === "shorten" ? "tooLong" : "valueMissing"]: true };
      this.#internals.setValidity(flags, this.#view.messageOf(fault), this.#view.controlOf(fault));
    } else {
      this.#internals.setValidity({});
    }
  }

  /** Why there are no options, in words. */
  #state({ loading, failed }: Labels): string {
    return this.#phase === "loading" ? loading : this.#phase === "failed" ? failed : "";
  }

  /**
   * What to show where the order cannot go on because there are no options: a failure holds up only what is required; the time of
   * loading also what has been filled in already, which would be lost.
   */
  #hindered(): HTMLElement | undefined {
    if (this.#phase === "failed" && this.required) return this.#retry;
    const awaited = this.required || this.#selection.style !== undefined;
    return this.#phase === "loading" && awaited ? this.#notice : undefined;
  }

  #onSubmit(event: Event): void {
    if (this.reportValidity()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  /** The browser's own event does not leave the element: it goes out as one that does. */
  #onInvalid(event: Event): void {
    if (event instanceof CustomEvent) return;
    event.stopImmediatePropagation();
    if (this.#hindered()) this.#notice.hidden = false;
    const [fault] = this.#faults();
    const detail = { message: this.validationMessage, label: fault?.field?.label ?? null };
    if (!this.#tell("invalid", detail)) event.preventDefault();
  }

  /** As in a field that stands in the form itself. */
  #submitOnEnter(event: KeyboardEvent): void {
    const isInput = event.target instanceof HTMLInputElement;
    if (isInput && event.key === "Enter" && !event.isComposing) this.form?.requestSubmit();
  }

  #tell(type: string, detail: unknown): boolean {
    return this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true, cancelable: true }));
  }

  /** It goes as far as the document: at the window, `error` is what the page's scripts throw. */
  #tellError({ message, reason, status }: LoadError): void {
    const stop = (event: Event) => event.stopPropagation();
    document.addEventListener("error", stop, { once: true });
    this.#tell("error", { message, reason, status: status ?? null, sku: this.sku });
    document.removeEventListener("error", stop);
  }
}

function parseTexts(json: string | null): Record<string, string> {
  try {
    const texts: unknown = JSON.parse(json ?? "{}");
    return typeof texts === "object" && texts !== null ? (texts as Record<string, string>) : {};
  } catch {
    return {};
  }
}
