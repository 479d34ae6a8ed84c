import type { Display } from "./display.ts";
import type { Order } from "./order.ts";

/** Turns a custom state on or off, for `:state()` in style sheets. */
export function setState({ states }: ElementInternals, name: string, isOn: boolean): void {
  try {
    states?.[isOn ? "add" : "delete"](name);
  } catch {
    // Browsers before 2024 accept only names with dashes. Only styling depends on states.
  }
}

export function setValidity(internals: ElementInternals, order: Order, display: Display): void {
  const [problem] = order.listProblems();
  if (order.isBlocked) {
    internals.setValidity({ valueMissing: true }, order.phaseMessage(), display.target);
  } else if (problem) {
    internals.setValidity({ [problem.flag]: true }, problem.message, display.target);
  } else {
    internals.setValidity({});
  }
}
