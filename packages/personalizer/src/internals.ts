import type { Display } from "./display.ts";
import type { Drafts } from "./drafts.ts";
import type { Order } from "./order.ts";

/** Turns a custom state on or off, for `:state()` in style sheets. */
export function setState({ states }: ElementInternals, name: string, isOn: boolean): void {
  try {
    states?.[isOn ? "add" : "delete"](name);
  } catch {
    // Browsers before 2024 accept only names with dashes. Only styling depends on states.
  }
}

/** Sets the form entries, and the input that the browser restores when the shopper comes back. */
export function setFormValue(internals: ElementInternals, order: Order, place: number, drafts: Drafts): void {
  const data = new FormData();
  const entries = order.toEntries(place);
  for (const [name, value] of entries) data.append(name, value);
  internals.setFormValue(entries.length > 0 ? data : null, drafts.pack(order.state));
}

export function setValidity(internals: ElementInternals, order: Order, display: Display): void {
  const [problem] = order.listProblems();
  if (order.isBlocked) {
    internals.setValidity({ valueMissing: true }, order.phaseMessage(), display.target);
  } else if (problem) {
    const { reason, message } = problem;
    const flag = reason === "shorten" ? "tooLong" : reason === "remove" ? "patternMismatch" : "valueMissing";
    internals.setValidity({ [flag]: true }, message, display.target);
  } else {
    internals.setValidity({});
  }
}
