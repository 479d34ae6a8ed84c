export interface Confirmation {
  /** Such as "Pause catalog-import". */
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The effects of the action, in sentences. */
  readonly consequences: readonly string[];
  readonly button: string;
  /** Fields that the form repeats. */
  readonly fields: Readonly<Record<string, string>>;
  /** The text to type before an action that cannot be undone. */
  readonly typed?: TypedConfirmation | undefined;
}

export interface TypedConfirmation {
  readonly label: string;
  readonly value: string;
}

/** The field of {@link TypedConfirmation}. */
export const typedField = "typed";
