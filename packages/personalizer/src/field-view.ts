import { createControl } from "./control.ts";
import { make, setAttributes, setText } from "./dom.ts";
import { fillIn, type Labels } from "./labels.ts";
import type { Field } from "./styles.ts";

/** A field with its label, hint, counter, and message. */
export class FieldView {
  readonly element: HTMLElement;
  readonly #label = make("span", { dir: "auto" });
  readonly #optional = make("span", { part: "optional" });
  readonly #hint: HTMLElement;
  readonly #counter: HTMLElement;
  readonly #about: HTMLElement;
  readonly #message: HTMLElement;
  readonly #control;
  #field: Field;
  #labels: Labels;

  /** @param id unique within the element */
  constructor(field: Field, id: string, labels: Labels, onValue: (value: string) => void) {
    this.#hint = make("span", { part: "hint", id: `${id}-hint`, dir: "auto" });
    this.#counter = make("span", { part: "counter", id: `${id}-counter`, dir: "auto" });
    this.#about = make("div", { part: "about" }, this.#hint, this.#counter);
    this.#message = make("p", { part: "message", id: `${id}-message` });
    this.#control = createControl(field, id, onValue);
    const label = this.#control.isGroup
      ? make("div", { part: "label", id: `${id}-label` })
      : make("label", { part: "label", for: id });
    label.append(this.#label, " ", this.#optional);
    this.element = make("div", { part: "line" }, label, this.#control.element, this.#about, this.#message);
    this.#field = field;
    this.#labels = labels;
    this.describe(field, labels);
  }

  get field(): Field {
    return this.#field;
  }

  /** The element to focus. */
  get target(): HTMLElement {
    return this.#control.target;
  }

  /** Updates the texts in place. */
  describe(field: Field, labels: Labels): void {
    const { hint, limit, optional } = field;
    this.#field = field;
    this.#labels = labels;
    setText(this.#label, field.label);
    setText(this.#optional, optional ? labels.optional : "");
    setText(this.#hint, hint);
    this.#counter.hidden = limit === undefined;
    this.#about.hidden = hint === "" && this.#counter.hidden;
    const described = [hint && this.#hint.id, limit && this.#counter.id, this.#message.id].filter(Boolean).join(" ");
    setAttributes(this.#control.element, {
      "aria-describedby": described,
      "aria-required": optional ? undefined : "true",
    });
    this.#control.describe(field, labels);
  }

  /** @param message what is wrong with the value; empty if nothing is */
  show(value: string, message: string): void {
    const limit = this.#field.limit ?? Infinity;
    this.#control.write(value);
    setText(this.#counter, limit < Infinity ? fillIn(this.#labels.counter, { count: value.length, limit }) : "");
    this.#counter.part.toggle("counter-full", value.length >= limit);
    setText(this.#message, message);
    this.#message.hidden = message === "";
    this.element.part.toggle("line-invalid", message !== "");
    setAttributes(this.#control.element, { "aria-invalid": `${message !== ""}` });
  }
}
