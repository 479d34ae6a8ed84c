/** Characters that a class must escape, with the flag `u` or `v`. */
const special = /[\^$\\.*+?()[\]{}|/-]/;

/**
 * Turns allowed characters into a class of a regular expression: `A-Z0-9 &` becomes `[ &0-9A-Z]`. A
 * hyphen between two characters makes a range; at the start or end it stands for itself. `\p{L}` is
 * a property of Unicode, and `\-` a hyphen.
 * @throws Error that says what is wrong
 */
export function toCharacterClass(text: string): string {
  const items = new Set<string>();
  const tokens = [...tokenize(text)];
  for (let index = 0; index < tokens.length; index++) {
    const [first, dash, last] = tokens.slice(index, index + 3) as [Token, Token?, Token?];
    if (dash?.isRange && last !== undefined) {
      if (first.isProperty || last.isProperty) throw new Error(`expected single characters around "-"`);
      if ((first.text.codePointAt(0) ?? 0) > (last.text.codePointAt(0) ?? 0)) {
        throw new Error(`"${first.text}-${last.text}" is not a range: its end comes before its start`);
      }
      items.add(`${writeEnd(first)}-${writeEnd(last)}`);
      index += 2;
    } else items.add(write(first));
  }
  if (items.size === 0) throw new Error("expected at least one character");
  return `[${[...items].sort().join("")}]`;
}

interface Token {
  readonly text: string;
  /** A hyphen that was not escaped. */
  readonly isRange: boolean;
  readonly isProperty: boolean;
}

function* tokenize(text: string): Generator<Token> {
  for (const [token, property, escaped] of text.matchAll(/\\p(\{[^}]*\})|\\(.)|./gsu)) {
    if (property !== undefined) {
      if (!isProperty(token)) throw new Error(`"${token}" is not a property of Unicode, such as \\p{L}`);
      yield { text: token, isRange: false, isProperty: true };
    } else {
      if (token === "\\") throw new Error(`expected a character after "\\"`);
      if (escaped !== undefined && /[\p{L}\p{N}]/u.test(escaped)) throw new Error(`"${token}" is not supported`);
      if (/[\p{Cc}\p{Cs}]/u.test(escaped ?? token)) throw new Error("expected no control characters");
      yield { text: escaped ?? token, isRange: token === "-", isProperty: false };
    }
  }
}

const write = ({ text, isProperty }: Token) => (!isProperty && special.test(text) ? `\\${text}` : text);

/** Next to a range, `&` could be doubled, which has another meaning with the flag `v`. */
const writeEnd = ({ text }: Token) => (/[!-/:-@[-`{-~]/.test(text) ? `\\x${text.charCodeAt(0).toString(16)}` : text);

function isProperty(text: string): boolean {
  try {
    return new RegExp(text, "u") !== undefined;
  } catch {
    return false;
  }
}
