import type { Values } from "./common.ts";

export interface CommandOption {
  readonly type: "string" | "boolean";
  /** Placeholder of the value in the help, such as `N`; `TEXT` by default. */
  readonly placeholder?: string;
  /** The description in the help; undefined for an internal option, which the help leaves out. */
  readonly sentence?: string;
}

export interface Command {
  /** The arguments and options, as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** Minimum and maximum number of arguments; none by default. */
  readonly positionals?: readonly [number, number];
  /** @returns whether the command succeeded, or its exit status */
  readonly run: (positionals: string[], values: Values) => Promise<boolean | number>;
}
