import { draw, shape } from "./draw.ts";
import type { Order } from "./order.ts";
import { nothingSelected, type Selection } from "./selection.ts";
import { describeForm, type Handlers, messageOf } from "./view.ts";

/** Delays the summary while the shopper types, because screen readers announce it. */
const summaryDelayMs = 400;

/** The shadow tree: the page's fallback content, a notice, and the form. */
export class Display {
  /** Missing input is shown only after a first attempt to submit. */
  showsProblems = false;
  /** Whether the notice explains why a submission was blocked. */
  showsBlock = false;
  /** What the cart lacks. */
  cartProblem = "";
  readonly #root: ShadowRoot;
  readonly #order: Order;
  readonly #handlers: Handlers;
  #summarized: Selection = nothingSelected;
  #summaryTimer: ReturnType<typeof setTimeout> | undefined;
  #isDrawing = false;
  #isOutdated = false;

  constructor(root: ShadowRoot, order: Order, handlers: Handlers) {
    this.#root = root;
    this.#order = order;
    this.#handlers = handlers;
  }

  get isNoticeFocused(): boolean {
    return this.#find("[part~=notice]:focus-within") !== null;
  }
  get isNoticeVisible(): boolean {
    return this.#find("[part~=notice]:not([hidden])") !== null;
  }

  /** The control to focus: the first with a problem, else the first. Undefined if there is none. */
  get target(): HTMLElement | undefined {
    const { isBlocked, phase } = this.#order;
    if (isBlocked) return this.#find(phase === "failed" ? "[part~=retry]" : "[part~=notice]") ?? undefined;
    if (phase !== "ready") return undefined;
    const [problem] = this.#order.listProblems();
    const field = problem?.field && this.#find(`#line-${this.#order.indexOf(problem.field)}`);
    return (
      field?.querySelector<HTMLElement>("input") ??
      field ??
      this.#find("[part~=styles] :checked") ??
      this.#find("input") ??
      undefined
    );
  }

  get problemMessage(): string {
    const [problem] = this.#order.listProblems();
    return problem ? messageOf(problem, this.#order.labels) : "";
  }

  focusNotice(): void {
    this.#find("[part~=notice]")?.focus();
  }

  show(delaysSummary = false): void {
    clearTimeout(this.#summaryTimer);
    if (!delaysSummary) this.#summarized = this.#order.selection;
    else this.#summaryTimer = setTimeout(() => this.show(), summaryDelayMs);
    // Removing a focused control runs the page's blur handlers, which may set labels.
    this.#isOutdated = true;
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    try {
      while (this.#isOutdated) {
        this.#isOutdated = false;
        this.#draw();
      }
    } finally {
      this.#isDrawing = false;
    }
  }

  #draw(): void {
    const { phase, labels, isDisabled, styles, required } = this.#order;
    const loss = this.#order.lossMessage();
    const problems = this.#order
      .listProblems()
      .filter(({ reason }) => this.showsProblems || reason === "shorten" || reason === "remove");
    const { host } = this.#root;
    const hasFallback = host.childElementCount > 0 || host.textContent?.trim() !== "";
    const isNoticeShown =
      this.showsBlock || loss !== "" || this.cartProblem !== "" || (phase === "failed" && (required || !hasFallback));
    draw(this.#root, [
      shape("slot", { hidden: styles.length > 0 || phase === "empty" }),
      shape(
        "div",
        { part: "notice", role: "alert", tabindex: "-1", hidden: !isNoticeShown },
        shape("p", { textContent: [this.#order.phaseMessage(), loss, this.cartProblem].filter(Boolean).join(" ") }),
        shape("button", {
          part: "retry",
          type: "button",
          disabled: isDisabled,
          hidden: phase === "ready" || phase === "empty",
          textContent: labels.retry,
          onclick: this.#handlers.onRetry,
        }),
      ),
      shape(
        "div",
        { part: "body" },
        styles.length > 0 && describeForm(this.#order, problems, this.#summarized, this.#handlers),
      ),
    ]);
  }

  #find(selector: string): HTMLElement | null {
    return this.#root.querySelector(selector);
  }
}
