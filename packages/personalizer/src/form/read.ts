import type { Entry } from "../selection.ts";
import { described } from "./draw.ts";

/** Tells the handlers of controls that a browser or a program changed without an `input` event. */
export function readControls(body: Element): void {
  for (const control of body.querySelectorAll<HTMLInputElement>("input,select,textarea")) {
    const { value, checked } = described.get(control) ?? {};
    const isChanged = control.type === "radio" ? control.checked && !checked : control.value !== value;
    if (isChanged && control.isConnected) control.dispatchEvent(new Event("input"));
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
