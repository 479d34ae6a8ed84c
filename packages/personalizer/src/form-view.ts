import { make, placeFirst, setAttributes, setText } from "./dom.ts";
import { FieldView } from "./field-view.ts";
import { fillIn, type Labels } from "./labels.ts";
import { findStyle, keyOf, type Problem, type Selection } from "./selection.ts";
import { createStyleView, type StyleView } from "./style-view.ts";
import type { Field, Style } from "./styles.ts";
import { SummaryView } from "./summary-view.ts";

export interface FormHandlers {
  onStyle(code: string | undefined): void;
  onValue(style: Style, field: Field, value: string): void;
}

/** The form for the options of a SKU: its styles, the lines of the chosen one, and a summary. */
export class FormView {
  readonly element: HTMLFieldSetElement;
  readonly #handlers: FormHandlers;
  readonly #title = make("div", { part: "title", id: "title" });
  readonly #message = make("p", { part: "message", id: "style-message" });
  readonly #group = make("div", {
    part: "styles",
    role: "radiogroup",
    "aria-labelledby": "title",
    "aria-describedby": this.#message.id,
  });
  readonly #noStyle: StyleView;
  readonly #styleViews: readonly StyleView[];
  readonly #lines = make("div", { part: "lines", role: "group" });
  readonly #summary = new SummaryView();
  #styles: readonly Style[];
  #labels: Labels;
  #shownStyle: string | undefined;
  #fields: readonly FieldView[] = [];

  constructor(styles: readonly Style[], labels: Labels, required: boolean, handlers: FormHandlers) {
    this.#styles = styles;
    this.#labels = labels;
    this.#handlers = handlers;
    this.#noStyle = createStyleView(0, () => handlers.onStyle(undefined));
    this.#styleViews = styles.map(({ code }, index) => createStyleView(index + 1, () => handlers.onStyle(code)));
    this.#group.append(...this.#styleViews.map(({ element }) => element));
    this.element = make(
      "fieldset",
      { part: "form", role: "none" },
      ...[this.#title, this.#group, this.#message, this.#lines, this.#summary.element],
    );
    this.describe(styles, labels, required);
  }

  /**
   * Updates the texts in place: a page may change labels in the middle of a click, and a control
   * that is replaced then loses the click or the focus.
   * @param styles the same ones in other words
   */
  describe(styles: readonly Style[], labels: Labels, required: boolean): void {
    this.#styles = styles;
    this.#labels = labels;
    setText(this.#title, labels.title);
    setAttributes(this.#group, { "aria-required": required ? "true" : undefined });
    this.#noStyle.describe(labels.none, "");
    for (const [index, { name, fields }] of styles.entries()) {
      const note = fields.map(({ label }) => label).join(" · ");
      this.#styleViews[index]?.describe(name, note === name ? "" : note);
    }
    const shown = styles.find(({ code }) => code === this.#shownStyle);
    setAttributes(this.#lines, { "aria-label": shown?.name });
    for (const [index, field] of (shown?.fields ?? []).entries()) this.#fields[index]?.describe(field, labels);
    // Last, because removing a focused control runs the page's blur handlers, which may set labels.
    placeFirst(this.#noStyle.element, this.#group, !required);
  }

  /** Shows the selection and the given problems. The summary is updated separately. */
  show(selection: Selection, problems: readonly Problem[]): void {
    const style = findStyle(selection, this.#styles);
    this.#noStyle.radio.checked = style === undefined;
    for (const [index, { radio }] of this.#styleViews.entries()) radio.checked = this.#styles[index] === style;
    if (style?.code !== this.#shownStyle) this.#showLines(style);
    const messageFor = (field: Field | undefined) => {
      const problem = problems.find((one) => one.field === field);
      return problem === undefined ? "" : this.messageOf(problem);
    };
    setText(this.#message, messageFor(undefined));
    this.#message.hidden = this.#message.textContent === "";
    for (const view of this.#fields) {
      view.show((style && selection.values.get(keyOf(style, view.field))) ?? "", messageFor(view.field));
    }
  }

  showSummary(selection: Selection): void {
    this.#summary.show(selection, this.#styles, this.#labels);
  }

  messageOf({ field, reason }: Problem): string {
    return fillIn(this.#labels[reason], field?.limit === undefined ? {} : { limit: field.limit });
  }

  /** The control to focus for a problem; without one, the first control. */
  targetOf(problem: Problem | undefined): HTMLElement {
    const view = problem && this.#fields.find(({ field }) => field === problem.field);
    const radios = [...this.#group.querySelectorAll("input")];
    return view?.target ?? radios.find(({ checked }) => checked) ?? radios[0] ?? this.element;
  }

  #showLines(style: Style | undefined): void {
    this.#shownStyle = style?.code;
    this.#fields =
      style?.fields.map(
        (field, index) =>
          new FieldView(field, `line-${index}`, this.#labels, (value) => this.#handlers.onValue(style, field, value)),
      ) ?? [];
    this.#lines.hidden = this.#fields.length === 0;
    setAttributes(this.#lines, { "aria-label": style?.name });
    this.#lines.replaceChildren(...this.#fields.map(({ element }) => element));
  }
}
