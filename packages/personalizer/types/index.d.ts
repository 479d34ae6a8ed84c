/** The form control `<personalization-options>`. */
export declare class PersonalizationOptions extends HTMLElement {
  get sku(): string;
  set sku(sku: string | null | undefined);
  /** Base URL of the service's API. */
  get endpoint(): string;
  set endpoint(endpoint: string | null | undefined);
  required: boolean;
  disabled: boolean;
  /** Replacements for texts of the data, if `labels` has none. May be set to JSON. */
  get texts(): object;
  set texts(texts: object | string | null | undefined);
  /** Custom labels. The attributes or the English defaults apply to those that are missing. */
  get labels(): Partial<Labels>;
  set labels(labels: Partial<Labels> | null | undefined);
  /** Null without personalization. */
  get value(): PersonalizationValue | null;
  /** Empty: the form entries have names of their own. */
  readonly name: string;
  readonly type: string;
  get form(): HTMLFormElement | null;
  get validity(): ValidityState;
  get validationMessage(): string;
  get willValidate(): boolean;
  checkValidity(): boolean;
  /** Shows and focuses what was lost, which makes it return false for a second, or what is missing. */
  reportValidity(): boolean;
  /** Requests the options again. */
  reload(): Promise<void>;

  addEventListener<Type extends keyof PersonalizationEvents>(
    type: Type,
    listener: (this: PersonalizationOptions, event: PersonalizationEvents[Type]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener<Type extends keyof HTMLElementEventMap>(
    type: Type,
    listener: (this: HTMLElement, event: HTMLElementEventMap[Type]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;

  removeEventListener<Type extends keyof PersonalizationEvents>(
    type: Type,
    listener: (this: PersonalizationOptions, event: PersonalizationEvents[Type]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener<Type extends keyof HTMLElementEventMap>(
    type: Type,
    listener: (this: HTMLElement, event: HTMLElementEventMap[Type]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | EventListenerOptions,
  ): void;
}

/** The current choice, as in `value` and in the detail of `change`. */
export interface PersonalizationValue {
  readonly style: string;
  readonly lines: readonly { readonly label: string; readonly value: string }[];
}

/** The element's own texts. `{…}` is a placeholder. */
export interface Labels
  extends Readonly<
    Record<
      | "title"
      | "none"
      | "style"
      | "line"
      | "optional"
      | "select"
      | "nothing"
      | "counter"
      | "summary"
      | "pick"
      | "fill"
      | "choose"
      | "shorten"
      | "lengthen"
      | "remove"
      | "space"
      | "invisible"
      | "missing"
      | "loading"
      | "failed"
      | "retry"
      | "lost"
      | "again",
      string
    >
  > {
  /** Replacements for texts of the data: style codes, instructions, and choices. */
  readonly texts: Readonly<Record<string, string>>;
}

/** The events, which bubble and cross shadow roots. */
export interface PersonalizationEvents {
  /** The options are loaded. `styles` is their number and may be 0. */
  ready: CustomEvent<{ readonly styles: number }>;
  /** The shopper chose or entered something. */
  change: CustomEvent<{ readonly value: PersonalizationValue | null; readonly complete: boolean }>;
  /** The choice is incomplete, or lost text blocked a submission. */
  invalid: CustomEvent<{ readonly message: string; readonly label: string | null }>;
  /** The options could not be loaded. */
  error: CustomEvent<{
    readonly message: string;
    readonly reason: "network" | "timeout" | "status" | "answer" | "sku";
    readonly status: number | null;
    readonly sku: string;
  }>;
  /** The cart lacks these properties of the order, by name. */
  "personalizer-cart-problem": CustomEvent<{
    readonly message: string;
    readonly properties: Readonly<Record<string, string>>;
    readonly sku: string;
  }>;
}

declare global {
  interface HTMLElementTagNameMap {
    "personalization-options": PersonalizationOptions;
  }
}
