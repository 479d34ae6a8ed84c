import type { Labels } from "../labels.ts";
import type { Order } from "../order.ts";
import { keyOf, type Selection } from "../selection.ts";
import { fillIn } from "../texts.ts";
import { countGraphemes } from "./characters.ts";
import { draw, type Shape, shape } from "./draw.ts";
import type { Problem } from "./problems.ts";
import { cleanValue, findStyle, listFilledIn } from "./selection.ts";
import { type Field, isLong, type Style } from "./styles.ts";

/** Fields with more choices get a list instead of radio buttons. */
const maxRadios = 8;

export interface Handlers {
  onStyle(code: string | undefined): void;
  onValue(style: Style, field: Field, value: string): void;
  onRetry(): void;
}

/** @param summarized the selection in the summary, which is updated later than the rest */
export function drawForm(
  body: Element,
  order: Order,
  problems: readonly Problem[],
  summarized: Selection,
  handlers: Handlers,
): void {
  const root = body.getRootNode() as ShadowRoot;
  const focused = root.activeElement as HTMLInputElement | null;
  const [start, end] = [focused?.selectionStart, focused?.selectionEnd];
  const line = focused?.closest("[part~=line]");
  draw(body, [order.styles.length > 0 && describeForm(order, problems, summarized, handlers)]);
  if (!focused || focused === root.activeElement) return;
  // A line that moves loses the focus, and another limit or number of choices makes another control.
  const next = focused.isConnected
    ? focused
    : line?.querySelector<HTMLInputElement>(start == null ? "select,:checked" : "[part~=input]");
  next?.focus({ preventScroll: true });
  if (start != null) next?.setSelectionRange(start, end ?? start);
}

function describeForm(order: Order, problems: readonly Problem[], summarized: Selection, handlers: Handlers): Shape {
  const { styles, labels, required, selection } = order;
  const style = findStyle(selection, styles);
  const messageFor = (field: Field | undefined) => problems.find((one) => one.field === field)?.message ?? "";
  return shape(
    "fieldset",
    // While another SKU loads, the shopper may go on typing, as in any field.
    { part: "form", role: "none", disabled: order.isDisabled },
    shape("div", { part: "title", id: "title", tabindex: "-1", textContent: labels.title }),
    shape(
      "div",
      {
        part: "styles",
        role: "radiogroup",
        "aria-labelledby": "title",
        "aria-describedby": "style-message",
        "aria-required": required ? "true" : undefined,
      },
      !required &&
        describeStyle(0, "", labels.none, "", undefined, style === undefined, () => handlers.onStyle(undefined)),
      ...styles.map(({ code, name, note, image }, index) =>
        describeStyle(index + 1, code, name, note, image, code === style?.code, () => handlers.onStyle(code)),
      ),
    ),
    describeMessage("style-message", messageFor(undefined)),
    shape(
      "div",
      { part: "lines", role: "group", "aria-label": style?.name, hidden: style === undefined },
      ...(style?.fields ?? []).map((field, index) =>
        describeLine(
          field,
          `line-${index}`,
          `${style?.code} ${field.key}`,
          (style && selection.values.get(keyOf(style, field))) ?? "",
          messageFor(field),
          labels,
          (value) => style && handlers.onValue(style, field, value),
        ),
      ),
    ),
    describeSummary(summarized, styles, labels),
  );
}

/** A radio button for a style, or for no personalization. */
function describeStyle(
  index: number,
  code: string,
  name: string,
  note: string,
  image: string | undefined,
  checked: boolean,
  oninput: () => void,
): Shape {
  const id = `style-${index}`;
  const noteId = `${id}-note`;
  return shape(
    "label",
    { part: "style", key: index === 0 ? "none" : `style ${code}` },
    shape("input", {
      type: "radio",
      name: "style",
      part: "radio",
      "aria-labelledby": id,
      "aria-describedby": note === "" ? undefined : noteId,
      value: `${index}`,
      checked,
      oninput,
    }),
    shape("span", { part: "style-name", id, dir: "auto", textContent: name }),
    note !== "" && shape("span", { part: "style-note", id: noteId, dir: "auto", textContent: note }),
    describeImage(image),
  );
}

/** A field with its label, hint, counter, and message. */
function describeLine(
  field: Field,
  id: string,
  key: string,
  value: string,
  message: string,
  labels: Labels,
  onValue: (value: string) => void,
): Shape {
  const { label, hint, limit = Infinity, optional, choices, image } = field;
  const isGroup = choices.length > 0 && choices.length <= maxRadios;
  const hasCounter = limit < Infinity && choices.length === 0;
  const count = hasCounter ? countGraphemes(cleanValue(value, field)) : 0;
  const texts = [
    shape("span", { dir: "auto", textContent: label }),
    shape("span", { part: "optional", textContent: optional ? ` ${labels.optional}` : "" }),
  ];
  const described = {
    "aria-describedby": [hint && `${id}-hint`, hasCounter && `${id}-counter`, `${id}-message`]
      .filter(Boolean)
      .join(" "),
    "aria-required": optional ? undefined : "true",
    "aria-invalid": `${message !== ""}`,
  };
  return shape(
    "div",
    { part: message === "" ? "line" : "line line-invalid", key },
    isGroup
      ? shape("div", { part: "label", id: `${id}-label` }, ...texts)
      : shape("label", { part: "label", for: id }, ...texts),
    describeImage(image),
    describeControl(field, id, isGroup, value, labels, described, onValue),
    (hint !== "" || hasCounter) &&
      shape(
        "div",
        { part: "about" },
        shape("span", { part: "hint", id: `${id}-hint`, dir: "auto", textContent: hint }),
        hasCounter &&
          shape("span", {
            part: count < limit ? "counter" : "counter counter-full",
            id: `${id}-counter`,
            textContent: fillIn(labels.counter, { count, limit }),
          }),
      ),
    describeMessage(`${id}-message`, message),
  );
}

function describeControl(
  field: Field,
  id: string,
  isGroup: boolean,
  value: string,
  labels: Labels,
  described: Readonly<Record<string, string | undefined>>,
  onValue: (value: string) => void,
): Shape {
  const { choices, characters, optional, uppercase } = field;
  const oninput = ({ target }: Event) => onValue((target as HTMLInputElement).value);
  if (choices.length === 0) {
    return shape(isLong(field) ? "textarea" : "input", {
      ...described,
      part: `field input${uppercase ? " uppercase" : ""}`,
      id,
      dir: "auto",
      autocomplete: "off",
      // A phone must not replace a name by a word.
      autocorrect: "off",
      spellcheck: "false",
      inputmode: characters === "[0-9]" ? "numeric" : undefined,
      value,
      oninput,
    });
  }
  const none = { value: "", text: isGroup ? labels.nothing : labels.select, image: undefined };
  const offers = isGroup && !optional ? choices : [none, ...choices];
  if (!isGroup) {
    return shape(
      "select",
      { ...described, part: "field select", id, value, oninput },
      // The text first: until an option has a value, its text is its value.
      ...offers.map((one) => shape("option", { key: one.value, textContent: one.text, value: one.value })),
    );
  }
  return shape(
    "div",
    { ...described, part: "choices", role: "radiogroup", id, "aria-labelledby": `${id}-label` },
    ...offers.map((one) =>
      shape(
        "label",
        { part: "choice", key: one.value },
        shape("input", {
          type: "radio",
          name: id,
          part: "radio",
          value: one.value,
          checked: one.value === value,
          oninput,
        }),
        describeImage(one.image),
        shape("span", { dir: "auto", textContent: one.text }),
      ),
    ),
  );
}

/** The image needs no text, because its name is next to it. `loading` has to be set before the URL. */
const describeImage = (src: string | undefined) =>
  src !== undefined && shape("img", { part: "image", alt: "", loading: "lazy", src });

/** The message is always in the page: screen readers announce only changes inside an existing live region. */
const describeMessage = (id: string, textContent: string) =>
  shape("p", { part: "message", id, "aria-live": "polite", textContent });

/** The chosen style and its values, announced to screen readers. */
function describeSummary(selection: Selection, styles: readonly Style[], labels: Labels): Shape {
  const style = findStyle(selection, styles);
  const rows = style && [
    [labels.style, style.name] as const,
    ...listFilledIn(selection, style).map(
      ([{ label, choices }, value]) => [label, choices.find((one) => one.value === value)?.text ?? value] as const,
    ),
  ];
  return shape(
    "div",
    { "aria-live": "polite", "aria-atomic": "true" },
    rows !== undefined &&
      shape(
        "div",
        { part: "summary" },
        shape("div", { part: "summary-title", textContent: labels.summary }),
        shape(
          "dl",
          {},
          ...rows.flatMap(([name, value]) => [
            shape("dt", { dir: "auto", textContent: name }),
            shape("dd", { dir: "auto", textContent: value }),
          ]),
        ),
      ),
  );
}
