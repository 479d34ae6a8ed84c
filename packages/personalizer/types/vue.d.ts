import type { HTMLAttributes, PublicProps } from "vue";
import type { Labels, PersonalizationEvents, PersonalizationOptions } from "./index.js";

/** The handlers of a template's `@ready` and so on. */
type Handlers = {
  [Name in keyof PersonalizationEvents as `on${Capitalize<Name>}`]?: (event: PersonalizationEvents[Name]) => void;
};

export type PersonalizationOptionsProps = Omit<HTMLAttributes & PublicProps, keyof Handlers> &
  Handlers & {
    sku?: string | null;
    endpoint?: string | null;
    required?: boolean;
    disabled?: boolean;
    labels?: Partial<Labels> | null;
  };

declare module "vue" {
  interface GlobalComponents {
    "personalization-options": new () => PersonalizationOptions & { $props: PersonalizationOptionsProps };
  }
}
