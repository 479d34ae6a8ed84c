import type { HTMLAttributes, PublicProps } from "vue";
import type { Labels, PersonalizationEvents, PersonalizationOptions } from "./index.js";

export * from "./index.js";

/** `personalizer-cart-problem` becomes `onPersonalizerCartProblem`. */
type ToHandlerName<Event extends string> = `on${ToPascalCase<Event>}`;
type ToPascalCase<Text extends string> = Text extends `${infer Word}-${infer Rest}`
  ? `${Capitalize<Word>}${ToPascalCase<Rest>}`
  : Capitalize<Text>;

/** The handlers of a template's `@ready` and so on. */
type Handlers = {
  [Name in keyof PersonalizationEvents as ToHandlerName<Name>]?: (event: PersonalizationEvents[Name]) => void;
};

export type PersonalizationOptionsProps = Omit<HTMLAttributes & PublicProps, keyof Handlers> &
  Handlers & {
    sku?: string | null;
    endpoint?: string | null;
    required?: boolean;
    disabled?: boolean;
    texts?: Readonly<Record<string, string>> | string | null;
    labels?: Partial<Labels> | null;
    /** URL of the cart to check after additions, such as `/cart.js`. */
    cart?: string | null;
  };

declare module "vue" {
  interface GlobalComponents {
    "personalization-options": new () => PersonalizationOptions & { $props: PersonalizationOptionsProps };
  }
}
