import { make, setAttributes, setText } from "./dom.ts";

/** A radio button for a style, or for no personalization. */
export interface StyleView {
  readonly element: HTMLElement;
  readonly radio: HTMLInputElement;
  describe(name: string, note: string): void;
}

/** @param index unique within the form */
export function createStyleView(index: number, onChoose: () => void): StyleView {
  const id = `style-${index}`;
  const name = make("span", { part: "style-name", id, dir: "auto" });
  const note = make("span", { part: "style-note", id: `${id}-note`, dir: "auto" });
  const radio = make("input", {
    type: "radio",
    name: "style",
    value: `${index}`,
    part: "radio",
    "aria-labelledby": id,
  });
  radio.addEventListener("input", onChoose);
  return {
    element: make("label", { part: "style" }, radio, name, note),
    radio,
    describe(nameText, noteText) {
      setText(name, nameText);
      setText(note, noteText);
      note.hidden = noteText === "";
      setAttributes(radio, { "aria-describedby": note.hidden ? undefined : note.id });
    },
  };
}
