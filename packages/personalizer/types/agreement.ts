import type { PersonalizationOptions as Element } from "../src/element.ts";
import type { Labels as SourceLabels } from "../src/labels.ts";
import type { Labels, PersonalizationOptions } from "./index.d.ts";

// The declarations of the package are written by hand, without what only the browser and the
// element itself use. They agree with the source if this file has no errors.

/** Called by the browser. */
type Callback = `${string}Callback`;

type Undeclared = Exclude<keyof Element, keyof PersonalizationOptions | Callback>;

export const isAgreed: [
  Element extends PersonalizationOptions ? true : never,
  Undeclared extends never ? true : Undeclared,
  SourceLabels extends Labels ? true : never,
  Labels extends SourceLabels ? true : never,
] = [true, true, true, true];
