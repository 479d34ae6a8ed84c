/** Sixteen digits in a row: only a text that has them can hold an integer that a double cannot. */
const longDigits = /\d{16}/;

const isUnsafeInteger = (source: string) => /^-?\d+$/.test(source) && !Number.isSafeInteger(Number(source));

/** The reviver's third argument is in newer runtimes, but not yet in TypeScript's library. */
const parse = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
) => unknown;

/**
 * Parses JSON; an integer that is not safe as a number becomes a `bigint`.
 * @throws SyntaxError when the text is not JSON
 */
export function parseBigints(text: string): unknown {
  if (!longDigits.test(text)) return JSON.parse(text);
  const givesSource = parse("0", (_, __, context) => context?.source === "0");
  return (givesSource ? parseBySource : parseByMarks)(text);
}

function parseBySource(text: string): unknown {
  return parse(text, (_, value, context) =>
    typeof value === "number" && isUnsafeInteger(context?.source ?? "") ? BigInt(context?.source ?? "") : value,
  );
}

/** In right JSON a string, with the colon when it is a key, or a number. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d[\d.eE+-]*/g;

/**
 * For runtimes whose reviver is not given the source: writes unsafe integers as strings that begin with one `#`, and what
 * could be taken for those, strings that begin with `#` or with an escape, behind two.
 */
export function parseByMarks(text: string): unknown {
  // What is wrong is refused as it is: with marks it could become right.
  JSON.parse(text);
  const marked = text.replace(token, (source: string, colon?: string) => {
    if (colon === undefined && /^"[#\\]/.test(source)) return `"##${source.slice(1)}`;
    return isUnsafeInteger(source) ? `"#${source}"` : source;
  });
  return parse(marked, (_, value) => {
    if (typeof value !== "string" || value[0] !== "#") return value;
    return value[1] === "#" ? value.slice(2) : BigInt(value.slice(1));
  });
}
