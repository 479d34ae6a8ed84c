import { make, setText } from "./dom.ts";

/** A message that explains why an order is blocked or what it lacks, with a button to try again. */
export class Notice {
  readonly #text = make("p");
  readonly retry = make("button", { part: "retry", type: "button" });
  readonly element = make(
    "div",
    { part: "notice", role: "alert", tabindex: "-1", hidden: "" },
    ...[this.#text, this.retry],
  );

  constructor(onRetry: () => void) {
    this.retry.addEventListener("click", onRetry);
  }

  show(text: string, retryLabel: string): void {
    setText(this.#text, text);
    setText(this.retry, retryLabel);
  }
}
