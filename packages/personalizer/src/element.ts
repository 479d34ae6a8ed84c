import type { FormStyle } from "../../client/src/form.ts";
import { Display } from "./display.ts";
import { setAttributes } from "./dom.ts";
import { dispatch, dispatchError } from "./events.ts";
import { setFormValue, setState, setValidity } from "./internals.ts";
import { type Labels, labelNames, toLabels } from "./labels.ts";
import { Loader } from "./loader.ts";
import { Order, type PersonalizationValue, type Phase } from "./order.ts";
import { styleSheet } from "./style-sheet.ts";
import type { Field, Style } from "./styles.ts";
import { guardSubmissions, submitImplicitly } from "./submission.ts";

/** The API is next to the script, also if the script's URL contains its version. */
const defaultEndpoint = new URL("api/v1", import.meta.url.replace(/\/personalization-options\/[^/]*$/, "/")).href;

/** Pages and frameworks may set these before the script defines the element. */
const upgradedProperties = ["sku", "endpoint", "required", "disabled", "labels"] as const;

/** `<personalization-options sku="…">`. The README documents attributes, events, and entries. */
export class PersonalizationOptions extends HTMLElement {
  static readonly formAssociated = true;
  static readonly observedAttributes = [
    "sku",
    "endpoint",
    "required",
    "texts",
    ...labelNames.map((name) => `label-${name}`),
  ];

  readonly #internals = this.attachInternals();
  readonly #loader = new Loader();
  #customLabels: Partial<Labels> = {};
  #labelsKey = "";
  readonly #order = new Order(this.#readLabels());
  readonly #display: Display;
  /** Whether a response for the current SKU has arrived. */
  #isLoaded = false;
  #formListener: AbortController | undefined;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [styleSheet()];
    const handlers = {
      onStyle: (code: string | undefined) => this.#onStyle(code),
      onValue: (style: Style, field: Field, value: string) => this.#onValue(style, field, value),
    };
    this.#display = new Display(root, this.#order, handlers, () => void this.reload());
    root.addEventListener("change", () =>
      dispatch(this, "change", { value: this.value, complete: this.#order.listProblems().length === 0 }),
    );
    root.addEventListener("keypress", (event) => this.#submitOnEnter(event as KeyboardEvent));
    this.addEventListener("invalid", (event) => this.#onInvalid(event));
    for (const name of upgradedProperties) this.#upgrade(name);
  }

  get sku(): string {
    return this.getAttribute("sku") ?? "";
  }
  set sku(sku: string | null | undefined) {
    setAttributes(this, { sku: sku ?? undefined });
  }

  get endpoint(): string {
    return this.getAttribute("endpoint") || defaultEndpoint;
  }
  set endpoint(endpoint: string | null | undefined) {
    setAttributes(this, { endpoint: endpoint ?? undefined });
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

  /** Custom labels. The attributes or the English defaults apply to those that are missing. */
  get labels(): Partial<Labels> {
    return this.#customLabels;
  }
  set labels(labels: Partial<Labels> | null | undefined) {
    this.#customLabels = labels ?? {};
    this.#relabel();
  }

  /** Null without personalization. */
  get value(): PersonalizationValue | null {
    return this.#order.value;
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

  /** Shows and focuses what is missing, or what was lost; each loss makes it return false once. */
  reportValidity(): boolean {
    const isValid = this.checkValidity();
    const isNewLoss = this.#order.reportLoss();
    if (isValid && !isNewLoss) return true;
    if (isValid) {
      dispatch(this, "invalid", { message: this.#order.lossMessage(), label: null });
      this.#display.focusNotice();
    } else {
      this.#display.showsProblems = true;
      this.#show();
      this.focus();
    }
    return false;
  }

  /** Focuses the first control with a problem; without one, the first control. */
  override focus(options?: FocusOptions): void {
    this.#display.target?.focus(options);
  }

  /** Requests the options again. */
  async reload(): Promise<void> {
    this.#discard();
    if (!this.isConnected || this.sku === "") return;
    await this.#loader.load(this.endpoint, this.sku, {
      onLoaded: ({ styles, tag }) => {
        this.#settle(styles.length > 0 ? "ready" : "empty", styles, tag);
        dispatch(this, "ready", { styles: styles.length });
      },
      onFailed: ({ message, reason, status }) => {
        this.#settle("failed", []);
        dispatchError(this, { message, reason, status: status ?? null, sku: this.sku });
      },
    });
  }

  connectedCallback(): void {
    if (!this.#isLoaded && !this.#loader.isLoading) this.#loadSoon();
  }

  /** Defined so that `moveBefore()` does not disconnect the element. */
  connectedMoveCallback(): void {}

  disconnectedCallback(): void {
    // A moved element is connected again by then, and its request continues.
    queueMicrotask(() => {
      if (!this.isConnected) this.#loader.stop();
    });
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return;
    if (name === "sku" || name === "endpoint") {
      this.#order.forgetReportedLoss();
      this.#discard();
      this.#loadSoon();
    } else this.#relabel();
  }

  formAssociatedCallback(form: HTMLFormElement | null): void {
    this.#formListener?.abort();
    this.#formListener = new AbortController();
    if (form) guardSubmissions(form, () => this.reportValidity(), this.#formListener.signal);
  }

  formDisabledCallback(disabled: boolean): void {
    this.#order.isDisabled = disabled;
    this.#show();
  }

  formResetCallback(): void {
    this.#display.showsProblems = false;
    this.#display.showsBlock = false;
    this.#order.clear();
    this.#show();
  }

  formStateRestoreCallback(state: unknown): void {
    this.#order.restore(state);
    this.#show();
  }

  /** A property that was set before the element was defined hides the setter: sets it again. */
  #upgrade<Name extends (typeof upgradedProperties)[number]>(name: Name): void {
    if (!Object.hasOwn(this, name)) return;
    const value = this[name];
    delete (this as Partial<this>)[name];
    this[name] = value;
  }

  /** Drops the options at once: the form must not submit those of another SKU. */
  #discard(): void {
    this.#loader.stop();
    this.#isLoaded = false;
    if (this.sku === "") this.#settle("empty", []);
    else {
      // After "Try again", the notice stays and keeps the focus.
      if (this.#order.phase === "failed") this.#display.showsBlock = this.#display.isNoticeVisible;
      this.#setPhaseState("loading");
      this.#order.phase = "loading";
      this.#show();
    }
  }

  #loadSoon(): void {
    this.#loader.schedule(() => void this.reload());
  }

  #settle(phase: Phase, options: readonly FormStyle[], tag = ""): void {
    const hadFocus = this.#display.isNoticeFocused;
    this.#isLoaded = phase !== "failed";
    this.#display.showsBlock = false;
    this.#setPhaseState(phase);
    this.#order.settle(phase, options, tag);
    this.#display.build();
    this.#show();
    if (hadFocus && phase === "ready") this.focus();
  }

  #readLabels(): Labels {
    return toLabels(this.#customLabels, (name) => this.getAttribute(name));
  }

  /** Does nothing for equal labels, which frameworks set at every update. */
  #relabel(): void {
    const labels = this.#readLabels();
    const key = JSON.stringify([this.required, labels]);
    if (key === this.#labelsKey) return;
    this.#labelsKey = key;
    this.#order.describe(labels, this.required);
    this.#display.describe();
    // A summary that grows in a handler of `change` would move the button that is being clicked.
    this.#show(true);
  }

  #onStyle(code: string | undefined): void {
    this.#display.showsProblems = false;
    this.#order.chooseStyle(code);
    this.#show();
  }

  #onValue(style: Style, field: Field, value: string): void {
    this.#order.enter(style, field, value);
    this.#show(field.choices.length === 0);
  }

  /** Updates the page, the form entries, and the validity. */
  #show(delaysSummary = false): void {
    this.#display.show(delaysSummary);
    setState(this.#internals, "lost", this.#order.lossMessage() !== "");
    setFormValue(this.#internals, this.#order);
    setValidity(this.#internals, this.#order, this.#display);
  }

  #setPhaseState(phase: Phase): void {
    setState(this.#internals, this.#order.phase, false);
    setState(this.#internals, phase, true);
  }

  /** The browser's own event does not bubble: dispatches one that does. */
  #onInvalid(event: Event): void {
    if (event instanceof CustomEvent) return;
    event.stopImmediatePropagation();
    if (this.#order.isBlocked) {
      this.#display.showsBlock = true;
      this.#show();
    }
    const [problem] = this.#order.listProblems();
    const detail = { message: this.validationMessage, label: problem?.field?.label ?? null };
    if (!dispatch(this, "invalid", detail)) event.preventDefault();
  }

  #submitOnEnter(event: KeyboardEvent): void {
    if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
    // Later listeners of the page may still prevent the event.
    setTimeout(() => {
      if (!event.defaultPrevented && this.form) submitImplicitly(this.form);
    });
  }
}
