/** What an instruction text says of its field. */
export interface Instruction {
  /** Empty where the text is too long to be a label and has no short beginning. */
  readonly label: string;
  /** What is left of the text. */
  readonly hint: string;
  readonly optional: boolean;
  /** UTF-16 code units, as `maxlength` counts; undefined where the text states no limit beyond doubt. */
  readonly limit: number | undefined;
  readonly digits: boolean;
}

const longestLabel = 60;

/** "Family name: up to 20 characters", "Ring size, US; if between two …", "Block letters. Up to 20 …". */
const beginning = new RegExp(`^(.{1,${longestLabel}}?)(?:[:;]|(?<=\\p{L}{4})\\.(?=\\s+\\p{Lu}))\\s+(.+)$`, "su");

const stated = [
  /\b(?:up to|at most|no more than|max(?:imum)?\.?(?: of)?:?)\s+(\d{1,3})\s+(?:characters?|letters?|initials?|digits?)\b/gi,
  /(?<!\d[,.\s–-]*)\b(\d{1,3})\s+(?:characters?|letters?|initials?|digits?)\s+(?:max(?:imum)?|at most)\b/gi,
  // A bare number is a limit where it stands alone: "Year: 4 digits", but not "at least 4 digits" or "4 digits or more".
  /(?:^|[:.;]\s+)(\d{1,3})\s+digits?(?=$|[,.;])/gi,
];

const inBrackets = /\s*\(([^()]*)\)/g;

/** @param optionalWord what stands in brackets where a line may be left empty, beside the English "optional" */
export function parseInstruction(text: string, optionalWord: string): Instruction {
  const words = ["optional", optionalWord.toLowerCase()];
  const marks = [...text.matchAll(inBrackets)].filter(([, word = ""]) => words.includes(word.trim().toLowerCase()));
  const rest = marks.reduce((left, [mark]) => left.replace(mark, ""), text).trim();
  const [, label = rest.length > longestLabel ? "" : rest, hint = rest.length > longestLabel ? rest : ""] =
    rest.match(beginning) ?? [];
  return { label, hint, optional: marks.length > 0, limit: limitOf(rest), digits: /\b\d{1,3}\s+digits?\b/i.test(rest) };
}

/** The largest limit that is stated: of two, one may hold for something else, and refusing a good text would be worse. */
function limitOf(text: string): number | undefined {
  const limits = stated.flatMap((pattern) => [...text.matchAll(pattern)].map(([, limit]) => Number(limit)));
  const limit = Math.max(0, ...limits);
  return limit > 0 ? limit : undefined;
}
