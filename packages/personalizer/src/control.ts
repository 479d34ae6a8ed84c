import { make, placeFirst, setAttributes, setText } from "./dom.ts";
import { type Labels, translate } from "./labels.ts";
import type { Field } from "./styles.ts";

/** Fields with more choices get a list instead of radio buttons. */
const maxRadios = 8;

/** The input element or elements of a field. */
export interface Control {
  readonly element: HTMLElement;
  /** The element to focus. */
  readonly target: HTMLElement;
  readonly isGroup: boolean;
  /** Updates texts and limits in place. */
  describe(field: Field, labels: Labels): void;
  write(value: string): void;
}

export function createControl(field: Field, id: string, onValue: (value: string) => void): Control {
  if (field.choices.length === 0) return createInput(id, onValue);
  if (field.choices.length <= maxRadios) return createRadios(field, id, onValue);
  return createSelect(field, id, onValue);
}

function createInput(id: string, onValue: (value: string) => void): Control {
  const element = make("input", { part: "field input", id, dir: "auto", autocomplete: "off", spellcheck: "false" });
  element.addEventListener("input", () => onValue(element.value));
  return {
    element,
    target: element,
    isGroup: false,
    describe({ limit, digits }) {
      setAttributes(element, { maxlength: limit?.toString(), inputmode: digits ? "numeric" : undefined });
    },
    write(value) {
      if (element.value !== value) element.value = value;
    },
  };
}

function createSelect({ choices }: Field, id: string, onValue: (value: string) => void): Control {
  const options = ["", ...choices].map((value) => make("option", { value }));
  const element = make("select", { part: "field select", id }, ...options);
  element.addEventListener("input", () => onValue(element.value));
  return {
    element,
    target: element,
    isGroup: false,
    describe(_, labels) {
      for (const option of options) {
        setText(option, option.value === "" ? labels.select : translate(option.value, labels));
      }
    },
    write(value) {
      element.value = value;
    },
  };
}

function createRadios({ choices }: Field, id: string, onValue: (value: string) => void): Control {
  const offers = ["", ...choices].map((value) => {
    const radio = make("input", { type: "radio", name: id, value, part: "radio" });
    const text = make("span", { dir: "auto" });
    radio.addEventListener("input", () => onValue(value));
    return { value, radio, text, element: make("label", { part: "choice" }, radio, text) };
  });
  const [none, ...others] = offers;
  const element = make(
    "div",
    { part: "choices", role: "radiogroup", "aria-labelledby": `${id}-label` },
    ...others.map((offer) => offer.element),
  );
  return {
    element,
    get target() {
      return element.querySelector("input") ?? element;
    },
    isGroup: true,
    describe({ optional }, labels) {
      for (const { value, text } of offers) setText(text, value === "" ? labels.nothing : translate(value, labels));
      if (none) placeFirst(none.element, element, optional);
    },
    write(value) {
      for (const offer of offers) offer.radio.checked = offer.value === value;
    },
  };
}
