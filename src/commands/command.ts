import type { Values } from "./common.ts";

export interface CommandOption {
  /** Placeholder of the value in the help, such as `n`; undefined for an option without a value. */
  readonly value?: string;
  /** The description in the help; undefined for an internal option, which the help leaves out. */
  readonly sentence?: string;
}

export interface Command {
  /** The arguments as commander writes them, such as `<job>`, `[file]`, or `<file...>`. */
  readonly arguments?: readonly string[];
  readonly summary: string;
  readonly options?: Readonly<Record<string, CommandOption>>;
  /**
   * @param values options by name in camel case
   * @returns whether the command succeeded, or its exit status
   */
  readonly run: (positionals: string[], values: Values) => Promise<boolean | number>;
}
