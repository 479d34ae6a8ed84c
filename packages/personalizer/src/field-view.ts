import { make, setText } from "./dom.ts";
import { fillIn, type Labels, shown } from "./labels.ts";
import type { Field } from "./selection.ts";

/** With more choices than these, they are a list to open. */
const mostRadios = 8;

export interface FieldView {
  readonly field: Field;
  readonly element: HTMLElement;
  /** What gets the focus. */
  readonly control: HTMLElement;
  /** @param message what is wrong; empty when nothing is */
  show(value: string, message: string): void;
}

interface Control {
  readonly element: HTMLElement;
  readonly focus: HTMLElement;
  readonly isGroup: boolean;
  write(value: string): void;
}

/** @param id unlike that of any other field of the element */
export function createFieldView(field: Field, id: string, labels: Labels, onValue: (value: string) => void): FieldView {
  const { element: input, focus, isGroup, write } = createControl(field, id, labels, onValue);
  const hint = make("span", { part: "hint", id: `${id}-hint`, dir: "auto" }, field.hint);
  const counter = make("span", { part: "counter", id: `${id}-counter`, dir: "auto" });
  const message = make("p", { part: "message", id: `${id}-message` });
  const label = [
    make("span", { dir: "auto" }, field.label),
    ...(field.optional ? [" ", make("span", { part: "optional" }, labels.optional)] : []),
  ];
  const about = make("div", { part: "about" }, hint, ...(field.limit ? [counter] : []));
  const described = [field.hint && hint.id, field.limit && counter.id, message.id].filter(Boolean).join(" ");
  input.setAttribute("aria-describedby", described);
  if (!field.optional) input.setAttribute("aria-required", "true");
  const element = isGroup
    ? make("div", { part: "line" }, make("div", { part: "label", id: `${id}-label` }, ...label), input)
    : make("div", { part: "line" }, make("label", { part: "label", for: id }, ...label), input);
  if (field.hint || field.limit) element.append(about);
  element.append(message);
  return {
    field,
    element,
    control: focus,
    show(value, wrong) {
      write(value);
      if (field.limit) setText(counter, fillIn(labels.counter, { count: value.length, limit: field.limit }));
      counter.part.toggle("counter-full", value.length >= (field.limit ?? Infinity));
      setText(message, wrong);
      message.hidden = wrong === "";
      element.part.toggle("line-invalid", wrong !== "");
      input.setAttribute("aria-invalid", `${wrong !== ""}`);
    },
  };
}

function createControl(field: Field, id: string, labels: Labels, onValue: (value: string) => void): Control {
  if (field.choices.length === 0) return createInput(field, id, onValue);
  if (field.choices.length <= mostRadios) return createRadios(field, id, labels, onValue);
  return createSelect(field, id, labels, onValue);
}

function createInput({ limit, digits }: Field, id: string, onValue: (value: string) => void): Control {
  const element = make("input", {
    part: "field input",
    id,
    dir: "auto",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: limit?.toString(),
    inputmode: digits ? "numeric" : undefined,
  });
  element.addEventListener("input", () => onValue(element.value));
  const write = (value: string) => {
    if (element.value !== value) element.value = value;
  };
  return { element, focus: element, isGroup: false, write };
}

function createSelect({ choices }: Field, id: string, labels: Labels, onValue: (value: string) => void): Control {
  const element = make(
    "select",
    { part: "field select", id },
    make("option", { value: "" }, labels.select),
    ...choices.map((value) => make("option", { value }, shown(value, labels))),
  );
  element.addEventListener("input", () => onValue(element.value));
  const write = (value: string) => {
    element.value = value;
  };
  return { element, focus: element, isGroup: false, write };
}

function createRadios(
  { choices, optional }: Field,
  id: string,
  labels: Labels,
  onValue: (value: string) => void,
): Control {
  const offered = optional ? ["", ...choices] : choices;
  const radios = offered.map((value) => make("input", { type: "radio", name: id, value, part: "radio" }));
  const element = make("div", { part: "choices", role: "radiogroup", "aria-labelledby": `${id}-label` });
  for (const radio of radios) {
    const text = radio.value === "" ? labels.nothing : shown(radio.value, labels);
    element.append(make("label", { part: "choice" }, radio, make("span", { dir: "auto" }, text)));
    radio.addEventListener("input", () => onValue(radio.value));
  }
  const write = (value: string) => {
    for (const radio of radios) radio.checked = radio.value === value;
  };
  return { element, focus: radios[0] ?? element, isGroup: true, write };
}
