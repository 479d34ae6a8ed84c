import type { Entry } from "../selection.ts";
import { described } from "./draw.ts";

/** Tells the handlers of controls that a browser or a program changed without an `input` event. */
export function readControls(body: Element): void {
  for (const control of body.querySelectorAll<HTMLInputElement>("input,select,textarea")) {
    const values = described.get(control);
    const name = control.type === "radio" ? "checked" : "value";
    const input = control[name];
    if (!values || !control.isConnected || input === false || input === values[name]) continue;
    // It may be drawn later, and must not replace what is entered until then.
    values[name] = input;
    control.dispatchEvent(new Event("input"));
  }
}

/** Reads the controls, and replaces the entries of data that was read from the form before them. */
export function completeData(data: FormData, body: Element, listEntries: () => Entry[]): void {
  const before = listEntries();
  readControls(body);
  const entries = listEntries();
  const hasAll = entries.every(([name, value]) => data.getAll(name).includes(value));
  if (hasAll && before.length === entries.length) return;
  for (const [name] of before) data.delete(name);
  for (const [name, value] of entries) data.append(name, value);
}
