import { make, setText } from "./dom.ts";
import { createFieldView, type FieldView } from "./field-view.ts";
import { fillIn, type Labels, shown } from "./labels.ts";
import { type Fault, type Field, keyOf, listProperties, type Selection, type Style, styleOf } from "./selection.ts";

export interface FormHandlers {
  onStyle(style: Style | undefined): void;
  onValue(style: Style, field: Field, value: string): void;
}

/** The form of a SKU in the page: the styles, the lines of the one that is chosen, and what will be made. */
export class FormView {
  readonly element: HTMLFieldSetElement;
  readonly #styles: readonly Style[];
  readonly #labels: Labels;
  readonly #handlers: FormHandlers;
  readonly #radios: readonly HTMLInputElement[];
  readonly #message = make("p", { part: "message", id: "style-message" });
  readonly #lines = make("div", { part: "lines", role: "group" });
  /** Always there, so that what comes into it is read out. */
  readonly #summary = make("div", { "aria-live": "polite", "aria-atomic": "true" });
  readonly #offered: readonly (Style | undefined)[];
  #fields: readonly FieldView[] = [];
  #style: Style | undefined;
  #summarized = "";

  constructor(styles: readonly Style[], labels: Labels, required: boolean, handlers: FormHandlers) {
    this.#styles = styles;
    this.#labels = labels;
    this.#handlers = handlers;
    this.#offered = required ? styles : [undefined, ...styles];
    this.#radios = this.#offered.map((_, index) =>
      make("input", { type: "radio", name: "style", value: `${index}`, part: "radio" }),
    );
    const group = make(
      "div",
      { part: "styles", role: "radiogroup", "aria-labelledby": "title", "aria-describedby": this.#message.id },
      ...this.#radios.map((radio, index) => this.#createOffer(radio, this.#offered[index])),
    );
    if (required) group.setAttribute("aria-required", "true");
    const title = make("div", { part: "title", id: "title" }, labels.title);
    this.element = make(
      "fieldset",
      { part: "form", role: "none" },
      ...[title, group, this.#message, this.#lines, this.#summary],
    );
  }

  /** Shows the selection, except in the summary, and of what is wrong with it the given faults. */
  show(selection: Selection, faults: readonly Fault[]): void {
    const style = styleOf(selection, this.#styles);
    for (const [index, radio] of this.#radios.entries()) {
      // With a style required nothing may be selected; else that is an offer of its own.
      radio.checked = this.#offered[index] === style;
    }
    if (style !== this.#style) this.#showLines(style);
    const messageOf = (field: Field | undefined) => {
      const fault = faults.find((one) => one.field === field);
      return fault === undefined ? "" : this.messageOf(fault);
    };
    setText(this.#message, messageOf(undefined));
    this.#message.hidden = this.#message.textContent === "";
    for (const { field, show } of this.#fields) {
      show((style && selection.values.get(keyOf(style, field))) ?? "", messageOf(field));
    }
  }

  showSummary(selection: Selection): void {
    const style = styleOf(selection, this.#styles);
    const labels = this.#labels;
    const rows = style
      ? [
          [labels.style, style.name] as const,
          ...listProperties(selection, style).map(
            ([{ label, choices }, value]) => [label, choices.length > 0 ? shown(value, labels) : value] as const,
          ),
        ]
      : [];
    // What is unchanged is not read out again.
    if (`${rows}` === this.#summarized) return;
    this.#summarized = `${rows}`;
    const terms = rows.flatMap(([name, value]) => [
      make("dt", { dir: "auto" }, name),
      make("dd", { dir: "auto" }, value),
    ]);
    const title = make("div", { part: "summary-title" }, labels.summary);
    this.#summary.replaceChildren(
      ...(style ? [make("div", { part: "summary" }, title, make("dl", {}, ...terms))] : []),
    );
  }

  messageOf({ field, reason }: Fault): string {
    return fillIn(this.#labels[reason], field?.limit === undefined ? {} : { limit: field.limit });
  }

  /** What gets the focus because of a fault, or first. */
  controlOf(fault: Fault | undefined): HTMLElement {
    const view = fault && this.#fields.find(({ field }) => field === fault.field);
    return view?.control ?? this.#radios.find(({ checked }) => checked) ?? this.#radios[0] ?? this.element;
  }

  #createOffer(radio: HTMLInputElement, style: Style | undefined): HTMLElement {
    radio.addEventListener("input", () => this.#handlers.onStyle(style));
    const id = `style-${radio.value}`;
    const name = make("span", { part: "style-name", id, dir: "auto" }, style?.name ?? this.#labels.none);
    const offer = make("label", { part: "style" }, radio, name);
    radio.setAttribute("aria-labelledby", id);
    const note = style?.fields.map(({ label }) => label).join(" · ");
    if (note && note !== style?.name) {
      offer.append(make("span", { part: "style-note", id: `${id}-note`, dir: "auto" }, note));
      radio.setAttribute("aria-describedby", `${id}-note`);
    }
    return offer;
  }

  #showLines(style: Style | undefined): void {
    this.#style = style;
    this.#fields =
      style?.fields.map((field, index) =>
        createFieldView(field, `line-${index}`, this.#labels, (value) => this.#handlers.onValue(style, field, value)),
      ) ?? [];
    this.#lines.hidden = this.#fields.length === 0;
    this.#lines.setAttribute("aria-label", style?.name ?? "");
    this.#lines.replaceChildren(...this.#fields.map(({ element }) => element));
  }
}
