import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { Labels, PersonalizationEvents, PersonalizationOptions } from "./index.js";

export * from "./index.js";

type Handlers = {
  [Name in keyof PersonalizationEvents as `on${Name}`]?: ((event: PersonalizationEvents[Name]) => void) | undefined;
};

/** React 19 sets properties, and listens to events by their exact names: `onready`. */
export interface PersonalizationOptionsProps
  extends DetailedHTMLProps<HTMLAttributes<PersonalizationOptions>, PersonalizationOptions>,
    Handlers {
  sku?: string | null | undefined;
  endpoint?: string | null | undefined;
  required?: boolean | undefined;
  disabled?: boolean | undefined;
  texts?: Readonly<Record<string, string>> | string | null | undefined;
  labels?: Partial<Labels> | null | undefined;
  /** URL of the cart to check after additions, such as `/cart.js`. */
  cart?: string | null | undefined;
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "personalization-options": PersonalizationOptionsProps;
    }
  }
}
