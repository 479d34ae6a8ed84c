import { defaultEndpoint } from "./addresses.ts";
import { setAttribute } from "./attributes.ts";
import type { Entry } from "./selection.ts";
import { guardSubmissions, listControls } from "./submission.ts";

/** Base of the form controls: attributes, a form, and entries with names of their own in it. */
export abstract class FormControl extends HTMLElement {
  static readonly formAssociated = true;
  protected readonly internals = this.attachInternals();
  #form: HTMLFormElement | null = null;
  #formListener: AbortController | undefined;
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
    this.guardForm();
    const before = this.#form;
    this.#form = form;
    this.numberEntries(before);
    this.numberEntries();
  }

  /** Defined so that `moveBefore()` does not disconnect the element. */
  connectedMoveCallback(): void {
    this.numberEntries();
  }

  /** Listens to the form while the element is in the page: a document would keep them alive. */
  protected guardForm(): void {
    this.#formListener?.abort();
    this.#formListener = new AbortController();
    const { signal } = this.#formListener;
    if (this.form && this.isConnected)
      guardSubmissions(
        this.form,
        // Before any of them, because those that are allowed forget what they keep for later.
        () => listPeers(this.form).every((peer) => peer.isAllowed()),
        () => this.onSubmit(),
        (data) => this.onFormData(data),
        signal,
      );
  }

  protected showEntries(): void {
    const entries = this.listEntries();
    if (entries.length > 0) this.drawEntries(entries);
    else this.#removeEntries();
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

  /** A copy of an element has those of the original. */
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
