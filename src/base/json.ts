/** JSON that keeps integers beyond 2^53 exact, as `bigint`. */

/** Only a text with sixteen consecutive digits can hold an integer that a double cannot. */
const longDigits = /\d{16}/;
const integer = /^-?\d+$/;

interface SourceContext {
  readonly source?: string;
}

/** TypeScript's library lacks `JSON.rawJSON` and the reviver's third argument. */
const json = JSON as unknown as {
  parse(text: string, reviver?: (key: string, value: unknown, context: SourceContext) => unknown): unknown;
  stringify(value: unknown, replacer?: (key: string, value: unknown) => unknown, indent?: number): string;
  rawJSON(text: string): unknown;
};

/** @throws SyntaxError when the text is not JSON */
export function parseJson(text: string): unknown {
  if (!longDigits.test(text)) return json.parse(text);
  return json.parse(text, (_key, value, { source }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && integer.test(source)
      ? BigInt(source)
      : value,
  );
}

export function toJson(value: unknown): string {
  try {
    // Without a replacer, it is ten times as fast. It throws on a bigint, which is rare.
    return json.stringify(value);
  } catch {
    return json.stringify(value, exactly);
  }
}

/** Indented, for people. */
export const toReadableJson = (value: unknown) => json.stringify(value, exactly, 2);

const exactly = (_key: string, member: unknown) => (typeof member === "bigint" ? json.rawJSON(`${member}`) : member);
