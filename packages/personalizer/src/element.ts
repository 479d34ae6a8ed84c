import { Display } from "./display.ts";
import { Drafts } from "./drafts.ts";
import { dispatch, dispatchError } from "./events.ts";
import type { CartCheck } from "./form/cart.ts";
import type { PersonalizationValue } from "./form/selection.ts";
import type { Handlers } from "./form/view.ts";
import { FormControl } from "./form-control.ts";
import { type FormScript, importForm } from "./import-form.ts";
import { setState, setValidity } from "./internals.ts";
import { type Labels, labelAttributes, toLabels, toTexts } from "./labels.ts";
import type { LoadedOptions } from "./load.ts";
import { Loader } from "./loader.ts";
import { Order } from "./order.ts";
import type { Entry } from "./selection.ts";
import { localeOf, Surroundings } from "./surroundings.ts";
import { upgrade } from "./upgrade.ts";

/** The last one that loaded. It also warns of elements whose SKUs do not need it. */
let loadedForm: FormScript | undefined;

/** `<personalization-options sku="…">`. The README documents attributes, events, and entries. */
export class PersonalizationOptions extends FormControl {
  static readonly observedAttributes = ["sku", "endpoint", "required", "texts", "lang", "cart", ...labelAttributes];

  readonly #loader = new Loader();
  readonly #surroundings = new Surroundings(
    () => this.#onLanguage(),
    () => this.hideEntries(),
    () => {
      this.showEntries();
      if (this.#order.phase === "failed") void this.reload();
    },
  );
  /** Undefined until a SKU has options. */
  #cartCheck: CartCheck | undefined;
  readonly #drafts = new Drafts(this);
  #customLabels: Partial<Labels> = {};
  #texts: object = {};
  /** The element's own texts in the page's language. */
  #translations: Partial<Labels> = {};
  #locale = "";
  #labelsKey = "";
  readonly #order = new Order(this.#readLabels());
  readonly #display: Display;
  /** Whether a response for the current SKU has arrived. */
  #isLoaded = false;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const handlers: Handlers = {
      onStyle: (code) => {
        this.#display.showsProblems = false;
        this.#order.chooseStyle(code);
        this.#onInput(false);
      },
      onValue: (style, field, value) => {
        this.#order.enter(style, field, value);
        this.#onInput(field.choices.length === 0);
      },
      onRetry: () => void this.reload(),
    };
    this.#display = new Display(root, this.#order, handlers);
    root.addEventListener("change", () => {
      // Some browsers report text that they fill in with this event alone. But the shopper may be
      // pressing a button, which must not move away.
      this.#display.read(true);
      dispatch(this, "change", { value: this.value, complete: this.#order.isComplete });
    });
    this.addEventListener("invalid", (event) => this.#onInvalid(event));
    upgrade(this, ["sku", "endpoint", "required", "disabled", "texts", "labels"]);
  }

  /** Custom labels. The attributes or the English defaults apply to those that are missing. */
  get labels(): Partial<Labels> {
    return this.#customLabels;
  }
  set labels(labels: Partial<Labels> | null | undefined) {
    this.#customLabels = labels ?? {};
    this.#relabel();
  }

  /** Replacements for texts of the data, if `labels` has none. May be set to JSON. */
  get texts(): object {
    return this.#texts;
  }
  set texts(texts: object | string | null | undefined) {
    this.#texts = toTexts(texts);
    this.#relabel();
  }

  /** Null without personalization. */
  get value(): PersonalizationValue | null {
    return this.#order.value;
  }

  /** Shows and focuses what was lost, which makes it return false for a second, or what is missing. */
  reportValidity(): boolean {
    const isValid = this.checkValidity();
    const isNewLoss = this.#order.reportLoss();
    const isAllowed = isValid && !isNewLoss;
    this.#display.showsBlock = isNewLoss || this.#order.isBlocked;
    this.#display.showsProblems ||= !isAllowed;
    this.#show();
    if (isNewLoss) dispatch(this, "invalid", { message: this.#order.lossMessage(), label: null });
    if (!isAllowed) this.#display.explain(isNewLoss);
    return isAllowed;
  }

  /** Focuses the first control with a problem; without one, the first control. */
  override focus(options?: FocusOptions): void {
    this.#display.target?.focus(options);
  }

  /** Requests the options again. */
  async reload(): Promise<void> {
    const { endpoint, sku } = this;
    const isWanted = this.isConnected && sku !== "";
    if (isWanted && this.#order.isUntouched) this.#order.restore(this.#drafts.find());
    this.#discard();
    if (!isWanted) return;
    this.#locale = localeOf(this);
    // There probably is a form, so its script need not wait for the options.
    if (this.required || !this.#order.isUntouched) importForm().catch(() => undefined);
    await this.#loader.load(
      { endpoint, locale: this.#locale, sku },
      {
        onLoaded: (options, labels) => {
          this.#settle("ready", options, labels);
          dispatch(this, "ready", { styles: this.#order.styles.length });
        },
        onFailed: ({ message, reason, status }, labels) => {
          this.#settle("failed", undefined, labels);
          dispatchError(this, { message, reason, status: status ?? null, sku });
        },
      },
    );
  }

  connectedCallback(): void {
    this.#drafts.join(true);
    this.guardForm(true);
    this.#surroundings.watch(true);
    this.#cartCheck?.watch(this.getAttribute("cart"));
    this.numberEntries();
    if (!this.#isLoaded && !this.#loader.isLoading) this.#loadSoon();
    else {
      this.#onLanguage();
      loadedForm?.warn(this, this.#order);
    }
  }

  disconnectedCallback(): void {
    this.#drafts.join(this.isConnected);
    this.guardForm(false);
    this.#surroundings.watch(false);
    this.#cartCheck?.watch(null);
    // A moved element is connected again by then, and its request continues.
    queueMicrotask(() => {
      if (!this.isConnected) this.#loader.stop();
    });
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return;
    if (name === "sku" || name === "endpoint") {
      this.#order.forgetReportedLoss();
      this.#loadSoon();
    } else if (name === "lang") this.#onLanguage();
    else if (name === "cart") this.#cartCheck?.watch(this.isConnected ? after : null);
    else if (name === "texts") this.texts = after;
    else this.#relabel();
  }

  formDisabledCallback(disabled: boolean): void {
    this.#order.isDisabled = disabled;
    this.#show();
  }

  formResetCallback(): void {
    this.read();
    this.#display.showsProblems = false;
    this.#display.showsBlock = false;
    this.#order.clear();
    this.#drafts.save(undefined);
    this.#show();
  }

  formStateRestoreCallback(state: unknown): void {
    this.#order.restore(this.#drafts.unpack(state));
    this.#show();
  }

  /** Drops the options at once: the form must not submit those of another SKU. */
  #discard(): void {
    this.read();
    this.#loader.stop();
    this.#isLoaded = false;
    if (this.sku === "") this.#settle("ready");
    else {
      // After "Try again", the notice stays and keeps the focus.
      if (this.#order.phase === "failed") this.#display.showsBlock = this.#display.isNoticeVisible;
      this.#order.phase = "loading";
      this.#show();
    }
  }

  #loadSoon(): void {
    this.#discard();
    this.#loader.schedule(() => void this.reload());
  }

  #settle(phase: "ready" | "failed", options?: LoadedOptions, labels = this.#translations): void {
    this.read();
    const { focused } = this.#display;
    this.#isLoaded = phase !== "failed";
    this.#display.showsBlock = false;
    this.#translations = labels;
    this.#relabel();
    if (options?.form) this.#add(options.form);
    this.#order.settle(phase, options, this.#locale);
    // Text that another variant was given is now also of this one.
    if (!this.#order.isUntouched && this.sku !== "") this.#drafts.save(this.#order.state);
    this.#show();
    loadedForm = options?.form ?? loadedForm;
    loadedForm?.warn(this, this.#order);
    if (focused) this.#display.refocus();
  }

  /** Has no effect after the first SKU with options. */
  #add(form: FormScript): void {
    if (this.#cartCheck) return;
    this.#cartCheck = new form.CartCheck(this.#order, (detail, isSeen) => {
      if (!dispatch(this, "personalizer-cart-problem", detail) || !isSeen) return;
      this.#display.cartProblem = detail.message;
      this.#show();
    });
    this.#cartCheck.watch(this.isConnected ? this.getAttribute("cart") : null);
    this.#display.add(form, () => this.form);
  }

  #readLabels(): Labels {
    return toLabels(this.#customLabels, this.#texts, (name) => this.getAttribute(name), this.#translations);
  }

  /** Does nothing for equal labels, which frameworks set at every update. */
  #relabel(): void {
    const labels = this.#readLabels();
    const key = JSON.stringify([this.required, labels]);
    if (key === this.#labelsKey) return;
    this.#labelsKey = key;
    this.#order.describe(labels, this.required);
    // A summary that grows in a handler of `change` would move the button that is being clicked.
    this.#show(true);
  }

  #onInput(delaysSummary: boolean): void {
    this.#display.cartProblem = "";
    this.#drafts.save(this.#order.state);
    this.#show(delaysSummary);
  }

  #onLanguage(): void {
    if (this.sku !== "" && localeOf(this) !== this.#locale) this.#loadSoon();
  }

  protected override isAllowed(): boolean {
    this.#display.cartProblem = "";
    const isAllowed = this.reportValidity();
    if (isAllowed) this.#cartCheck?.expect(this.listEntries(), this.sku);
    return isAllowed;
  }

  protected override onSubmit(): void {
    this.#drafts.save(undefined);
  }

  /** Updates the page, the form entries, and the validity. */
  #show(delaysSummary = false): void {
    this.#display.show(delaysSummary);
    for (const [state, isOn] of this.#order.listStates()) setState(this.internals, state, isOn);
    this.showEntries();
    // The browser restores this when the shopper comes back.
    this.internals.setFormValue(null, this.#drafts.pack(this.#order.state));
    setValidity(this.internals, this.#order, this.#display);
  }

  protected override onFormData(data: FormData): void {
    this.#display.complete(data, () => this.listEntries());
  }

  protected override read(): void {
    this.#display.read();
  }

  protected override drawEntries(entries: readonly Entry[]): void {
    this.#display.drawEntries(entries);
  }

  /** Pages copy forms to read or submit the copy: it has those of the original until it shows its own options. */
  protected override get replacesEntries(): boolean {
    return this.#isLoaded || !this.#order.isUntouched;
  }

  protected override listEntries(): Entry[] {
    return this.#order.toEntries(this.place);
  }

  /** The browser's own event does not bubble: dispatches one that does. */
  #onInvalid(event: Event): void {
    if (event instanceof CustomEvent) return;
    event.stopImmediatePropagation();
    this.read();
    if (this.#order.isBlocked) {
      this.#display.showsBlock = true;
      this.#show();
    }
    const [problem] = this.#order.listProblems();
    const detail = { message: this.validationMessage, label: problem?.field?.label ?? null };
    // The browser may have filled in what was missing, without an event: the next attempt succeeds.
    if (this.validity.valid || !dispatch(this, "invalid", detail)) event.preventDefault();
  }
}
