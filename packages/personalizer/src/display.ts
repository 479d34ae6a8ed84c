import type { Handlers } from "./form/view.ts";
import type { FormScript } from "./import-form.ts";
import type { Order } from "./order.ts";
import { type Entry, nothingSelected, type Selection } from "./selection.ts";
import { styleSheet } from "./style-sheet.ts";

/** Delays the summary while the shopper types, because screen readers announce it. */
const summaryDelayMs = 400;

/** The shadow tree: the page's fallback content, a notice, and the form. */
export class Display {
  /** Missing input is shown only after a first attempt to submit. */
  showsProblems = false;
  /** Whether the notice explains why a submission was blocked. */
  showsBlock = false;
  /** Message about properties that the cart lacks; empty if it has all. */
  cartProblem = "";
  readonly #root: ShadowRoot;
  readonly #order: Order;
  readonly #handlers: Handlers;
  readonly #slot = create("slot");
  readonly #message = create("p");
  readonly #retry = create("button", "retry");
  readonly #notice = create("div", "notice", this.#message, this.#retry);
  readonly #body = create("div", "body");
  /** Undefined until a SKU has options. */
  #form: FormScript | undefined;
  #summarized: Selection = nothingSelected;
  #summaryTimer: ReturnType<typeof setTimeout> | undefined;
  #isQuiet = false;
  #isDrawing = false;
  #isOutdated = false;

  constructor(root: ShadowRoot, order: Order, handlers: Handlers) {
    this.#root = root;
    this.#order = order;
    this.#handlers = handlers;
    this.#notice.setAttribute("role", "alert");
    this.#notice.tabIndex = -1;
    this.#retry.type = "button";
    this.#retry.onclick = () => handlers.onRetry();
    root.adoptedStyleSheets = [styleSheet()];
    root.append(this.#slot, this.#notice, this.#body);
  }

  get focused(): Element | null {
    return this.#root.activeElement;
  }
  get isNoticeVisible(): boolean {
    return !this.#notice.hidden;
  }

  /** From now on there is a form to draw. */
  add(form: FormScript, findForm: () => HTMLFormElement | null): void {
    this.#form = form;
    this.#root.addEventListener("keypress", (event) => form.submitOnEnter(event as KeyboardEvent, findForm));
    this.#root.adoptedStyleSheets = [styleSheet(), form.styleSheet()];
  }

  /** The control to focus: the first with a problem, else the first. Undefined if there is none. */
  get target(): HTMLElement | undefined {
    const { isBlocked, phase } = this.#order;
    if (isBlocked) return phase === "failed" ? this.#retry : this.#notice;
    const [problem] = this.#order.listProblems();
    const field = problem && this.#find(`#line-${problem.index}`);
    return (
      field?.querySelector<HTMLElement>("input") ??
      field ??
      this.#find("[part~=styles] :checked") ??
      this.#find("input") ??
      undefined
    );
  }

  /** Shows why nothing was ordered: a loss, or else what is missing. */
  explain(isLoss: boolean): void {
    let details = this.#root.host.closest("details");
    for (; details; details = details.parentElement?.closest("details") ?? null) details.open = true;
    const target = isLoss ? this.#notice : this.target;
    if (isLoss) this.#focusNotice();
    else target?.focus();
    // The page hides the element, in a tab for example, so only the browser can say it. To block
    // until the page shows the element would make an order impossible.
    if (target?.checkVisibility?.({ visibilityProperty: true }) !== false) return;
    const [problem] = this.#order.listProblems();
    alert(isLoss || !problem ? this.#message.textContent : problem.explanation);
  }

  /** In the middle of the screen, because pages may have bars at its edges. */
  #focusNotice(): void {
    this.#notice.focus({ preventScroll: true });
    this.#notice.scrollIntoView({ block: "center" });
  }

  /** Keeps the focus in the element if what had it is gone, at a place where keys change nothing. */
  refocus(): void {
    if (this.focused?.getClientRects()[0]) return;
    if (this.isNoticeVisible) this.#focusNotice();
    else this.#find("#title")?.focus();
  }

  drawEntries(entries: readonly Entry[]): void {
    this.#form?.showEntries(this.#root.host, entries);
  }

  /**
   * Takes over input that no event has reported.
   * @param isQuiet whether to show its consequences later
   */
  read(isQuiet = false): void {
    this.#isQuiet = isQuiet;
    this.#form?.readControls(this.#body);
    this.#isQuiet = false;
  }

  /** Takes over such input, and completes data that a script has already read from the form. */
  complete(data: FormData, listEntries: () => Entry[]): void {
    this.#form?.completeData(data, this.#body, listEntries);
  }

  show(delaysSummary = false): void {
    clearTimeout(this.#summaryTimer);
    if (!delaysSummary && !this.#isQuiet) this.#summarized = this.#order.selection;
    else this.#summaryTimer = setTimeout(() => this.show(), summaryDelayMs);
    if (this.#isQuiet) return;
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
    const hasFallback = this.#slot.assignedNodes().some((node) => node instanceof Element || node.textContent?.trim());
    const isNoticeShown =
      this.showsBlock || loss !== "" || this.cartProblem !== "" || (phase === "failed" && (required || !hasFallback));
    this.#slot.hidden = styles.length > 0 || phase === "empty";
    this.#notice.hidden = !isNoticeShown;
    const isWaiting = phase === "loading" && styles.length === 0 && !hasFallback && !isNoticeShown;
    this.#body.part.toggle("loading", isWaiting);
    const again = loss && this.showsBlock && labels.again;
    setText(this.#message, [this.#order.phaseMessage(), loss, again, this.cartProblem].filter(Boolean).join(" "));
    this.#retry.disabled = isDisabled;
    this.#retry.hidden = phase === "ready" || phase === "empty";
    setText(this.#retry, labels.retry);
    const problems = this.#order.listProblems().filter(({ isImmediate }) => this.showsProblems || isImmediate);
    this.#form?.drawForm(this.#body, this.#order, problems, this.#summarized, this.#handlers);
  }

  #find(selector: string): HTMLElement | null {
    return this.#body.querySelector(selector);
  }
}

function create<Name extends keyof HTMLElementTagNameMap>(tag: Name, part = "", ...children: Element[]) {
  const element = document.createElement(tag);
  if (part !== "") element.part.add(part);
  element.append(...children);
  return element;
}

/** Changes only what differs: screen readers announce texts that are set again. */
function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
