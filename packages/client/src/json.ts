/** Integers with fewer digits are always exact, so most responses skip the slower parsers. */
const longDigits = /\d{16}/;

const isUnsafeInteger = (source: string) => /^-?\d+$/.test(source) && !Number.isSafeInteger(Number(source));

/**
 * Newer runtimes pass a third argument to the reviver, which TypeScript's library does not declare
 * yet.
 */
const parse = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
) => unknown;

/**
 * Parses JSON, with integers beyond the safe range as `bigint`.
 * @throws SyntaxError when the text is not JSON
 */
export function parseBigints(text: string): unknown {
  if (!longDigits.test(text)) return JSON.parse(text);
  const hasSource = parse("0", (_, __, context) => context?.source === "0");
  return (hasSource ? parseWithSource : parseWithMarkers)(text);
}

function parseWithSource(text: string): unknown {
  return parse(text, (_, value, context) =>
    typeof value === "number" && isUnsafeInteger(context?.source ?? "") ? BigInt(context?.source ?? "") : value,
  );
}

/** In valid JSON, a string (including the colon of a key) or a number. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d[\d.eE+-]*/g;

/**
 * For runtimes whose reviver does not get the source text. Replaces unsafe integers by strings that
 * start with `#`. Strings that could be mistaken for one, because they start with `#` or an escape,
 * get the prefix `##`.
 */
export function parseWithMarkers(text: string): unknown {
  // Rejects invalid JSON first, because the markers could make it valid.
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
