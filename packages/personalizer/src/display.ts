import { make } from "./dom.ts";
import { type FormHandlers, FormView } from "./form-view.ts";
import { Notice } from "./notice.ts";
import type { Order } from "./order.ts";

/** Delays the summary while the shopper types, because screen readers announce it. */
const summaryDelayMs = 400;

/** The shadow tree: the page's fallback content, a notice, and the form. */
export class Display {
  /** Problems are shown only after a first attempt to submit. */
  showsProblems = false;
  /** Whether the notice explains why a submission was blocked. */
  showsBlock = false;
  readonly #order: Order;
  readonly #handlers: FormHandlers;
  readonly #fallback = make("slot");
  readonly #notice: Notice;
  readonly #body = make("div", { part: "body" });
  #form: FormView | undefined;
  #summaryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(root: ShadowRoot, order: Order, handlers: FormHandlers, onRetry: () => void) {
    this.#order = order;
    this.#handlers = handlers;
    this.#notice = new Notice(onRetry);
    root.append(this.#fallback, this.#notice.element, this.#body);
  }

  get isNoticeFocused(): boolean {
    return this.#notice.element.matches(":focus-within");
  }
  get isNoticeVisible(): boolean {
    return !this.#notice.element.hidden;
  }

  /** The control to focus: the first with a problem, else the first. Undefined if there is none. */
  get target(): HTMLElement | undefined {
    if (this.#order.isBlocked) return this.#order.phase === "failed" ? this.#notice.retry : this.#notice.element;
    return this.#order.phase === "ready" ? this.#form?.targetOf(this.#order.listProblems()[0]) : undefined;
  }

  get problemMessage(): string {
    const [problem] = this.#order.listProblems();
    return problem && this.#form ? this.#form.messageOf(problem) : "";
  }

  focusNotice(): void {
    this.#notice.element.focus();
  }

  /** Builds the form for newly loaded options. */
  build(): void {
    const { styles, labels, required } = this.#order;
    this.#form = styles.length > 0 ? new FormView(styles, labels, required, this.#handlers) : undefined;
    this.#body.replaceChildren(...(this.#form ? [this.#form.element] : []));
  }

  /** Updates the texts of the form in place. */
  describe(): void {
    const { styles, labels, required } = this.#order;
    this.#form?.describe(styles, labels, required);
  }

  show(delaysSummary = false): void {
    const { phase, labels, isDisabled, selection } = this.#order;
    const loss = this.#order.lossMessage();
    const { element, retry } = this.#notice;
    this.#fallback.hidden = this.#form !== undefined || phase === "empty";
    this.#notice.show([this.#order.phaseMessage(), loss].filter(Boolean).join(" "), labels.retry);
    retry.disabled = isDisabled;
    retry.hidden = phase === "ready" || phase === "empty";
    element.hidden = !(this.showsBlock || loss !== "" || (phase === "failed" && this.#order.required));
    if (!this.#form) return;
    this.#form.element.disabled = isDisabled || phase === "loading";
    this.#form.show(selection, this.showsProblems ? this.#order.listProblems() : []);
    clearTimeout(this.#summaryTimer);
    const summarize = () => this.#form?.showSummary(this.#order.selection);
    if (delaysSummary) this.#summaryTimer = setTimeout(summarize, summaryDelayMs);
    else summarize();
  }
}
