import { type Fault, type FaultKind, faultKinds } from "./faults.ts";
import { isObject } from "./json.ts";

/** @throws Error with the reason if the value is not a valid fault */
export function parseFault(value: unknown): Fault {
  if (!isObject(value)) throw new Error("a fault must be an object");
  const kind = faultKinds.find((known) => known === value.kind);
  if (kind === undefined) throw new Error(`the "kind" of a fault must be one of ${faultKinds.join(", ")}`);
  const required = requiredOf[kind];
  if (required !== undefined && typeof value[required.name] !== required.type) {
    throw new Error(`a fault of kind "${kind}" needs "${required.name}", a ${required.type}`);
  }
  // The kind and its required property are checked; everything else is optional.
  return value as unknown as Fault;
}

const requiredOf: Partial<Record<FaultKind, { readonly name: string; readonly type: "number" | "string" }>> = {
  status: { name: "status", type: "number" },
  slow: { name: "latencyMs", type: "number" },
  fallForward: { name: "version", type: "string" },
};
