import { hideCredentials } from "../base/credentials.ts";
import { ServiceError } from "../base/errors.ts";
import { truncate } from "../base/format.ts";

/** More problems are only counted. */
const maxShown = 20;

/** Collects the problems of the settings, so that one error lists all of them. */
export class SettingProblems {
  readonly #descriptions: (() => string)[] = [];
  #cause: unknown;

  get count(): number {
    return this.#descriptions.length;
  }

  /** @param describe called only if the problem is shown: a suggestion takes time */
  add(describe: () => string, cause?: unknown): void {
    this.#descriptions.push(describe);
    this.#cause ??= cause;
  }

  /** @throws ServiceError `invalid_setting` if there are any; its message has a line for each */
  throwIfAny(): void {
    const count = this.#descriptions.length;
    if (count === 0) return;
    const lines = this.#descriptions.slice(0, maxShown).map((describe) => hideCredentials(describe()));
    if (count > maxShown) lines.push(`and ${count - maxShown} more`);
    const message = count === 1 ? `${lines[0]}` : `${count} settings are invalid:\n  ${lines.join("\n  ")}`;
    throw new ServiceError("invalid_setting", message, { cause: this.#cause });
  }
}

/** Creates the error for a problem after which nothing else can be checked. */
export function invalidSetting(message: string, cause?: unknown): ServiceError {
  return new ServiceError("invalid_setting", hideCredentials(message), { cause });
}

/** Quotes and shortens a text for a message. */
export const quote = (text: string) => JSON.stringify(truncate(text, 100));
