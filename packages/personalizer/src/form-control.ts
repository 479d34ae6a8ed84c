import { defaultEndpoint } from "./addresses.ts";
import { setAttribute } from "./attributes.ts";
import type { Entry } from "./selection.ts";
import { listControls, listSubmitButtons, type SubmitButton } from "./submission.ts";

/** Base of the form controls: attributes, a form, and entries with names of their own in it. */
export abstract class FormControl extends HTMLElement {
  static readonly formAssociated = true;
  protected readonly internals = this.attachInternals();
  /** Themes read both of every control. The entries have names of their own. */
  readonly name: string = "";
  readonly type: string = this.localName;
  #form: HTMLFormElement | null = null;
  #listener: AbortController | undefined;
  /** A theme may replace the content of the element. */
  readonly #contentObserver = new MutationObserver(() => this.showEntries());

  /** Whether the form may be submitted. */
  protected abstract isAllowed(): boolean;
  protected abstract onSubmit(): void;
  /** A script has read the form, perhaps without submitting it. */
  protected abstract onFormData(data: FormData): void;
  /** Takes over input that no event has reported. */
  protected abstract read(): void;
  protected abstract listEntries(): Entry[];
  /** Whether entries that a page has copied from another element count no longer. */
  protected abstract readonly replacesEntries: boolean;
  protected abstract drawEntries(entries: readonly Entry[]): void;

  get sku(): string {
    return this.getAttribute("sku") ?? "";
  }
  set sku(sku: string | null | undefined) {
    setAttribute(this, "sku", sku);
  }

  get endpoint(): string {
    return this.getAttribute("endpoint") || defaultEndpoint;
  }
  set endpoint(endpoint: string | null | undefined) {
    setAttribute(this, "endpoint", endpoint);
  }

  get required(): boolean {
    // Frameworks set a property of an element that is not defined yet as an attribute.
    return (this.getAttribute("required") ?? "false") !== "false";
  }
  set required(required: boolean) {
    setAttribute(this, "required", required ? "" : null);
  }

  get disabled(): boolean {
    return this.hasAttribute("disabled");
  }
  set disabled(disabled: boolean) {
    this.toggleAttribute("disabled", disabled);
  }

  get form(): HTMLFormElement | null {
    return this.internals.form;
  }
  get validity(): ValidityState {
    return this.internals.validity;
  }
  get validationMessage(): string {
    return this.internals.validationMessage;
  }
  get willValidate(): boolean {
    return this.internals.willValidate;
  }

  checkValidity(): boolean {
    this.read();
    return this.internals.checkValidity();
  }

  formAssociatedCallback(form: HTMLFormElement | null): void {
    const before = this.#form;
    this.#form = form;
    this.numberEntries(before);
    this.numberEntries();
  }

  /** Defined so that `moveBefore()` does not disconnect the element. */
  connectedMoveCallback(): void {
    this.numberEntries();
  }

  /**
   * Cancels submissions that are not allowed, also of forms with `novalidate`, and clicks on the
   * button that adds to the cart. The window captures events before all listeners of themes that
   * submit by script; `submit` does not leave a shadow tree.
   * @param isOn whether the element is in the page: the window would keep it alive
   */
  protected guardForm(isOn: boolean): void {
    this.#listener?.abort();
    if (!isOn) return;
    this.#listener = new AbortController();
    const options = { capture: true, signal: this.#listener.signal };
    const root = this.getRootNode();
    const target = root instanceof ShadowRoot ? root : window;
    const listen = (type: string, listener: (event: Event) => void) =>
      target.addEventListener(type, (event) => event.target === this.form && listener(event), options);
    listen(
      "submit",
      (event) => this.#check(event, (event as SubmitEvent).submitter as SubmitButton) && this.onSubmit(),
    );
    listen("formdata", (event) => this.onFormData((event as FormDataEvent).formData));
    window.addEventListener("click", (event) => this.#onClick(event), options);
  }

  #onClick(event: Event): void {
    // Outside its shadow tree, a button's event has another target. A page may dispatch one anywhere.
    const path = event.composedPath();
    // A theme may read the form now. A click in the element itself is reported afterwards.
    if (!path.includes(this)) this.read();
    const button = (path[0] as Element).closest?.<SubmitButton>("button,input");
    const buttons = this.form ? listSubmitButtons(this.form) : [];
    // Other buttons may lack `type="button"`, such as those of themes that change the quantity.
    const adds = button && buttons.includes(button) && (buttons.length === 1 || button.name === "add");
    // A theme that handles the click itself prevents the submission.
    if (adds && !button.matches(":disabled") && this.#check(event, button)) {
      setTimeout(() => event.defaultPrevented && this.onSubmit());
    }
  }

  /** Buttons with `formnovalidate` submit anything. */
  #check(event: Event, button: SubmitButton | null): boolean {
    // All of them first, because those that are allowed forget what they keep for later.
    const isAllowed = button?.formNoValidate || listPeers(this.form).every((peer) => peer.isAllowed());
    if (!isAllowed) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
    return isAllowed;
  }

  protected showEntries(): void {
    const entries = this.listEntries();
    if (entries.length > 0) this.drawEntries(entries);
    else if (this.replacesEntries) this.#removeEntries();
    this.#contentObserver.observe(this, { childList: true });
  }

  /**
   * The shopper leaves the page. Chromium restores a form only if its first fields have the names
   * that they had before.
   */
  protected hideEntries(): void {
    this.read();
    this.#contentObserver.disconnect();
    this.#removeEntries();
  }

  #removeEntries(): void {
    for (const input of this.querySelectorAll("[slot=entry]")) input.remove();
  }

  /** Place among the elements in the form, from 1. */
  protected get place(): number {
    return Math.max(1, listPeers(this.form).indexOf(this) + 1);
  }

  /** The names of entries depend on the other elements in the form. */
  protected numberEntries(form = this.form): void {
    for (const peer of [this, ...listPeers(form)]) peer.showEntries();
  }
}

const listPeers = (form: HTMLFormElement | null) =>
  form ? listControls(form).filter((control) => control instanceof FormControl) : [];
