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
