import type { FormStyle } from "../../client/src/form.ts";
import { make, setText } from "./dom.ts";
import { FormView } from "./form-view.ts";
import { submitImplicitly } from "./implicit-submission.ts";
import { fillIn, type Labels, shown, toLabels, wordNames } from "./labels.ts";
import { LoadError, loadForm } from "./load.ts";
import {
  type Fault,
  type Field,
  fitSelection,
  keyOf,
  listFaults,
  listLost,
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

/** A page or a framework may set them before this script has run. */
const properties = ["sku", "endpoint", "required", "disabled", "labels"] as const;

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
  #words = this.#readWords();
  #wordsInUse = "";
  #phase: Phase = "empty";
  #form: readonly FormStyle[] = [];
  #mark = "";
  #styles: readonly Style[] = [];
  /** All that was entered, also what this SKU doesn't offer: the next one may. */
  #entered = nothingSelected;
  /** The part of it that is on offer. */
  #selection = nothingSelected;
  #view: FormView | undefined;
  /** Whether what is missing is said: not before someone tried to go on without it. */
  #strict = false;
  #disabled = false;
  /** Whether there is an answer, and it is about the current SKU. */
  #isAnswered = false;
  #loading: AbortController | undefined;
  #loadIsDue = false;
  /** Whether the notice is shown because an order couldn't go on. */
  #insists = false;
  /** The loss that already held up a submission; each does so once. */
  #reportedLoss = "";
  #submits: AbortController | undefined;
  #summaryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [styleSheet()];
    root.append(this.#fallback, this.#notice, this.#body);
    root.addEventListener("change", () => this.#tell("change", { value: this.value, complete: this.#isComplete() }));
    root.addEventListener("keypress", (event) => this.#submitOnEnter(event as KeyboardEvent));
    this.#retry.addEventListener("click", () => this.reload());
    this.addEventListener("invalid", (event) => this.#onInvalid(event));
    for (const name of properties) this.#adopt(name);
  }

  get sku(): string {
    return this.getAttribute("sku") ?? "";
  }
  set sku(sku: string | null | undefined) {
    this.#reflect("sku", sku);
  }

  get endpoint(): string {
    return this.getAttribute("endpoint") || defaultEndpoint;
  }
  set endpoint(endpoint: string | null | undefined) {
    this.#reflect("endpoint", endpoint);
  }

  get required(): boolean {
    return this.hasAttribute("required");
  }
  set required(required: boolean) {
    this.toggleAttribute("required", required);
  }

  get disabled(): boolean {
    return this.hasAttribute("disabled");
  }
  set disabled(disabled: boolean) {
    this.toggleAttribute("disabled", disabled);
  }

  /** Words and texts in other words; what is left out is as the attributes say, or English. */
  get labels(): Partial<Labels> {
    return this.#labels;
  }
  set labels(labels: Partial<Labels> | null | undefined) {
    this.#labels = labels ?? {};
    this.#relabel();
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

  /** Where something is missing, or was lost, says so there and puts the focus there. */
  reportValidity(): boolean {
    const isValid = this.checkValidity();
    const loss = this.#loss();
    if (isValid && (loss === "" || loss === this.#reportedLoss)) return true;
    this.#reportedLoss = loss;
    if (isValid) {
      this.#tell("invalid", { message: loss, label: null });
      this.#notice.focus();
    } else {
      this.#strict = true;
      this.#show();
      this.focus();
    }
    return false;
  }

  /** Focuses what is missing first, else the first control. */
  override focus(options?: FocusOptions): void {
    const target = this.#view && this.#phase === "ready" ? this.#view.controlOf(this.#faults()[0]) : this.#hindered();
    target?.focus(options);
  }

  /** Asks the service again. */
  async reload(): Promise<void> {
    this.#discard();
    if (!this.isConnected || this.sku === "") return;
    const loading = new AbortController();
    this.#loading = loading;
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
    if (!this.#isAnswered && this.#loading === undefined) this.#loadSoon();
  }

  /** `moveBefore()` changes nothing. */
  connectedMoveCallback(): void {}

  disconnectedCallback(): void {
    // An element that is moved is back by then, and its request goes on.
    queueMicrotask(() => {
      if (!this.isConnected) this.#stopLoading();
    });
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return;
    if (name === "sku" || name === "endpoint") {
      this.#reportedLoss = "";
      this.#discard();
      this.#loadSoon();
    } else this.#relabel();
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
    this.#insists = false;
    this.#select(nothingSelected);
  }

  formStateRestoreCallback(state: unknown): void {
    this.#select(parseState(state));
  }

  /** A property that was set before the element was defined hides the setter: set it again. */
  #adopt<Name extends (typeof properties)[number]>(name: Name): void {
    if (!Object.hasOwn(this, name)) return;
    const value = this[name];
    delete (this as Partial<this>)[name];
    this[name] = value;
  }

  #reflect(name: string, value: string | null | undefined): void {
    if (value === null || value === undefined) this.removeAttribute(name);
    else this.setAttribute(name, value);
  }

  #stopLoading(): void {
    this.#loading?.abort();
    this.#loading = undefined;
  }

  /** Runs at once, not with the next request: the form must not carry another SKU's options. */
  #discard(): void {
    this.#stopLoading();
    this.#isAnswered = false;
    if (this.sku === "") this.#settle("empty", []);
    else {
      // After "Try again" the button stays, and the focus on it.
      if (this.#phase === "failed") this.#insists = !this.#notice.hidden;
      this.#enter("loading");
      this.#show();
    }
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
    this.#setState(this.#phase, false);
    this.#setState(phase, true);
    this.#phase = phase;
  }

  #setState(name: string, isOn: boolean): void {
    try {
      this.#internals.states?.[isOn ? "add" : "delete"](name);
    } catch {
      // Browsers before 2024 refuse names without dashes; only styles depend on them.
    }
  }

  #settle(phase: Phase, form: readonly FormStyle[]): void {
    const hadFocus = this.#notice.matches(":focus-within");
    this.#loading = undefined;
    this.#isAnswered = phase !== "failed";
    this.#insists = false;
    this.#form = form;
    this.#enter(phase);
    this.#render();
    if (hadFocus && phase === "ready") this.focus();
  }

  #readWords(): Labels {
    return toLabels(this.#labels, (name) => this.getAttribute(name));
  }

  /** Frameworks set equal words at every update: only different ones make the form anew. */
  #relabel(): void {
    const words = this.#readWords();
    const inUse = JSON.stringify([this.required, words]);
    if (inUse === this.#wordsInUse) return;
    this.#wordsInUse = inUse;
    this.#words = words;
    this.#keepFocus(() => this.#render());
  }

  /** Counts from the end, because "No personalization", the first control, comes and goes. */
  #keepFocus(change: () => void): void {
    const listControls = () => [...this.#body.querySelectorAll<HTMLInputElement>("input,select")];
    const controls = listControls();
    const focused = controls.find((control) => control.matches(":focus"));
    const { selectionStart, selectionEnd } = focused ?? {};
    change();
    if (focused === undefined) return;
    const control = listControls().at(controls.indexOf(focused) - controls.length);
    control?.focus({ preventScroll: true });
    // Undefined in a list, null in a radio button.
    if (typeof selectionStart === "number") control?.setSelectionRange(selectionStart, selectionEnd ?? null);
  }

  /** Makes the form anew from the answer; what is selected stays. */
  #render(): void {
    const labels = this.#words;
    this.#styles = toStyles(this.#form, labels);
    this.#view =
      this.#styles.length === 0
        ? undefined
        : new FormView(this.#styles, labels, this.required, {
            onStyle: (style) => this.#onStyle(style),
            onValue: (style, field, value) => this.#onValue(style, field, value),
          });
    this.#body.replaceChildren(...(this.#view ? [this.#view.element] : []));
    this.#select(this.#entered);
  }

  #onStyle(style: Style | undefined): void {
    this.#strict = false;
    this.#select({ ...this.#entered, style: style?.code });
  }

  #onValue(style: Style, field: Field, value: string): void {
    const values = new Map(this.#entered.values).set(keyOf(style, field), value);
    this.#select({ style: style.code, values }, field.choices.length === 0 ? summaryDelayMs : 0);
  }

  #select(selection: Selection, delayMs = 0): void {
    this.#entered = selection;
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
    const labels = this.#words;
    const disabled = this.#disabled || this.#phase === "loading";
    const loss = this.#loss();
    this.#fallback.hidden = this.#view !== undefined || this.#phase === "empty";
    setText(this.#said, [this.#state(labels), loss].filter(Boolean).join(" "));
    setText(this.#retry, labels.retry);
    this.#retry.disabled = this.#disabled;
    this.#retry.hidden = this.#phase === "ready" || this.#phase === "empty";
    this.#notice.hidden = !(this.#insists || loss !== "" || (this.#phase === "failed" && this.required));
    this.#setState("lost", loss !== "");
    if (loss === "" && this.#phase !== "loading") this.#reportedLoss = "";
    if (this.#view) this.#view.element.disabled = disabled;
    this.#view?.show(this.#selection, this.#strict ? this.#faults() : []);
    this.#submit(labels);
    this.#validate(labels);
  }

  /**
   * A sentence about what was entered but isn't part of the order. Empty while that is unknown, or
   * while nothing can be ordered anyway.
   */
  #loss(): string {
    if (this.#disabled || this.#phase === "loading" || this.#hindered()) return "";
    const lost = listLost(this.#entered, this.#offered.length > 0 ? this.#selection : nothingSelected);
    const text = lost.map((value) => shown(value, this.#words)).join(", ");
    return text && fillIn(this.#words.lost, { text });
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
    const awaited = this.required || this.#entered.style !== undefined;
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
    if (this.#hindered()) {
      this.#insists = true;
      this.#show();
    }
    const [fault] = this.#faults();
    const detail = { message: this.validationMessage, label: fault?.field?.label ?? null };
    if (!this.#tell("invalid", detail)) event.preventDefault();
  }

  /** As in a field that stands in the form itself. */
  #submitOnEnter(event: KeyboardEvent): void {
    if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
    // Handlers of the page run later in the same dispatch, and may prevent this.
    setTimeout(() => {
      if (!event.defaultPrevented && this.form) submitImplicitly(this.form);
    });
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
