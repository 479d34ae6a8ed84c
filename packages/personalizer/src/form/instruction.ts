/** The parts of an instruction text. */
export interface Instruction {
  /** Empty if the text is too long for a label and has no short beginning. */
  readonly label: string;
  /** The text after the label. */
  readonly hint: string;
  readonly optional: boolean;
  /** Characters as a reader counts them; undefined unless the text states a clear limit. */
  readonly limit: number | undefined;
  /** The limit, if the text asks for exactly that many. */
  readonly minimum: number | undefined;
  /** The characters that the text asks for, as a class of a regular expression. */
  readonly characters: string | undefined;
}

const maxLabelLength = 60;

/** Splits "Family name: up to 20 characters", "Ring size, US; if …", and "Block letters. Up to 20 …". */
const labelAndHint = new RegExp(`^(.{1,${maxLabelLength}}?)(?:[:;]|(?<=\\p{L}{4})\\.(?=\\s+\\p{Lu}))\\s+(.+)$`, "su");

/** "Year: 4 digits" asks for four; "at least 4 digits" and "4 digits or more" do not. */
const exactPattern = /(?:^|[:.;]\s+)(\d{1,3})\s+digits?(?=$|[,.;])/gi;

/** Up to 1,000, as in a presentation. */
const limitPatterns = [
  /\b(?:up to|at most|no more than|max(?:imum)?\.?(?: of)?:?)\s+(\d{1,3}|1,?000)\s+(?:characters?|letters?|initials?|digits?)\b/gi,
  /(?<!\d[,.\s–-]*)\b(\d{1,3}|1,?000)\s+(?:characters?|letters?|initials?|digits?)\s+(?:max(?:imum)?|at most)\b/gi,
  exactPattern,
];

/**
 * Only if the text speaks of nothing else: refusing a valid text would be worse. "Up to 20 letters"
 * may be said of a name, which has spaces.
 */
const kinds: readonly [names: RegExp, characters: string][] = [
  [/^(digits? ?)+$/i, "[0-9]"],
  [/^(letters? )*initials?( letters?| initials?)*$/i, "[\\p{L}\\p{M}]"],
];

const parentheses = /\s*\(([^()]*)\)/g;

/** @param optionalLabel marks optional lines if in parentheses, like the English "optional" */
export function parseInstruction(text: string, optionalLabel: string): Instruction {
  const optionalWords = ["optional", optionalLabel.toLowerCase()];
  const marks = [...text.matchAll(parentheses)].filter(([, inside = ""]) =>
    optionalWords.includes(inside.trim().toLowerCase()),
  );
  let rest = text;
  for (const [mark] of marks) rest = rest.replace(mark, "");
  rest = rest.trim();
  const isLong = rest.length > maxLabelLength;
  const [, label = isLong ? "" : rest, hint = isLong ? rest : ""] = rest.match(labelAndHint) ?? [];
  const limit = limitOf(rest);
  const minimum = listLimits(rest, [exactPattern]).find((exact) => exact === limit);
  return { label, hint, optional: marks.length > 0, limit, minimum, characters: charactersOf(rest) };
}

function charactersOf(text: string): string | undefined {
  if (limitOf(text) === undefined) return undefined;
  const named = text.match(/\b(?:characters?|letters?|initials?|digits?|names?)\b/gi) ?? [];
  return kinds.find(([names]) => names.test(named.join(" ")))?.[1];
}

/** Takes the largest limit: rejecting a valid text would be worse than allowing a long one. */
function limitOf(text: string): number | undefined {
  const limit = Math.max(0, ...listLimits(text, limitPatterns));
  return limit > 0 ? limit : undefined;
}

const listLimits = (text: string, patterns: readonly RegExp[]) =>
  patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, limit = ""]) => Number(limit.replace(",", ""))));
