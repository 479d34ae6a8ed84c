/** Content of the page on which an operator confirms an action. */
export interface Confirmation {
  /** Such as "Pause catalog-import". */
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The effects of the action, in sentences. */
  readonly consequences: readonly string[];
  /** Text of the button. */
  readonly button: string;
  /** Fields that the form repeats. */
  readonly fields: Readonly<Record<string, string>>;
  /** The text to type before an action that cannot be undone; undefined for others. */
  readonly typed?: TypedConfirmation | undefined;
}

export interface TypedConfirmation {
  readonly label: string;
  readonly value: string;
}

/** The field of {@link TypedConfirmation}. */
export const typedField = "typed";
