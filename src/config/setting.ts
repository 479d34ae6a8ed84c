/** A scalar setting. */
export interface Setting<T> {
  readonly default: string;
  /** Throws an Error that says which values are valid. */
  readonly parse: (text: string) => T;
  /** The description in the documentation. */
  readonly sentence: string;
  /**
   * How output hides the value. `secret`: prints only whether it is set. `credentials`: omits it
   * from error messages, because a malformed URL cannot be redacted reliably. Credentials in URLs
   * are hidden everywhere.
   */
  readonly hide?: "secret" | "credentials";
}

/** Infers the type of a setting's value. */
export const setting = <T>(definition: Setting<T>): Setting<T> => definition;
