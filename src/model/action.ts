/** What a page says before an operator confirms an action. */
export interface Confirmation {
  /** Such as "Pause catalog-import". */
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** What will happen, in sentences. */
  readonly consequences: readonly string[];
  /** Text of the button. */
  readonly button: string;
  /** Fields that the form repeats. */
  readonly fields: Readonly<Record<string, string>>;
  /** What the operator must type first, because nothing brings it back; undefined otherwise. */
  readonly typed?: TypedConfirmation | undefined;
}

export interface TypedConfirmation {
  readonly label: string;
  readonly value: string;
}

/** The field of {@link TypedConfirmation}. */
export const typedField = "typed";
