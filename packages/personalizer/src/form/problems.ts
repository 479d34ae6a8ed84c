import type { Labels } from "../labels.ts";
import type { Selection } from "../selection.ts";
import { fillIn } from "../texts.ts";
import { countGraphemes, listRefused } from "./characters.ts";
import { cleanValueOf, findStyle } from "./selection.ts";
import { type Field, isLong, type Style } from "./styles.ts";

const flags = {
  pick: "valueMissing",
  fill: "valueMissing",
  choose: "valueMissing",
  lengthen: "tooShort",
  shorten: "tooLong",
  remove: "patternMismatch",
} as const;

/** Why the selection cannot be ordered. */
export interface Problem {
  readonly flag: keyof ValidityStateFlags;
  readonly message: string;
  /** With the line: for a dialog, which is next to none. */
  readonly explanation: string;
  /** Whether the shopper sees it while typing; others only after an attempt to submit. */
  readonly isImmediate: boolean;
  /** Undefined if no style is chosen. */
  readonly field: Field | undefined;
  /** Place of the field in its style; -1 without a field. */
  readonly index: number;
}

/** Lists problems in the order of the page. */
export function listProblems(
  selection: Selection,
  styles: readonly Style[],
  labels: Labels,
  required: boolean,
): Problem[] {
  const create = (reason: keyof typeof flags, index = -1, field?: Field, text?: string): Problem[] => {
    const isImmediate = reason === "shorten" || reason === "remove";
    const message = fillIn(labels[reason], { limit: field?.limit, text });
    const explanation = `${field?.label ?? labels.title}: ${message}`;
    return [{ flag: flags[reason], message, explanation, isImmediate, field, index }];
  };
  const style = findStyle(selection, styles);
  if (style === undefined) return required && styles.length > 0 ? create("pick") : [];
  return style.fields.flatMap((field, index): Problem[] => {
    const value = cleanValueOf(selection, style, field);
    const isText = field.choices.length === 0;
    if (value === "") return field.optional ? [] : create(isText ? "fill" : "choose", index, field);
    if (!isText) return [];
    const { limit = Infinity, minimum = 0, characters } = field;
    const written = isLong(field) && characters === undefined ? value.replaceAll("\n", "") : value;
    const refused = listRefused(written, characters, labels);
    if (refused.length > 0) return create("remove", index, field, refused.join(", "));
    const count = countGraphemes(value);
    if (count < minimum) return create("lengthen", index, field);
    return count > limit ? create("shorten", index, field) : [];
  });
}
