import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseJson, toJson } from "../../src/base/json.ts";
import { type JsonDocument, type JsonLimits, JsonSplitter, rowLimits } from "../../src/feed/json.ts";
import { compareSequence } from "../../src/personalization/lists.ts";

/** Any JSON value, integers beyond the exact ones as bigint. */
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, "", "123456789012345678901"),
    fc.string({ unit: "binary" }),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Number.isInteger(number) ? 0.5 : number)),
    fc.bigInt().filter((number) => !Number.isSafeInteger(Number(number))),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(fc.string(), tie("value"), { maxKeys: 5 }),
  ),
})).value;

describe("JSON with exact integers", () => {
  test("comes back as it was printed", () => {
    fc.assert(fc.property(value, (original) => expect(parseJson(toJson(original))).toEqual(original)));
  });

  test("prints any text's integers with the digits that they came with", () => {
    fc.assert(fc.property(fc.bigInt(), (number) => toJson(parseJson(`[${number}]`)) === `[${number}]`));
  });

  test.each([
    ["9007199254740991", 9007199254740991],
    ["-9007199254740991", -9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9007199254740992", -9007199254740992n],
    ["9223372036854775807", 9223372036854775807n],
    ["12345678901234567890.5", Number("12345678901234567890.5")],
    ["1e30", 1e30],
    ['"9007199254740993"', "9007199254740993"],
    ['{"a":[1,9007199254740993]}', { a: [1, 9007199254740993n] }],
  ])("reads %s as what it is", (text, read) => {
    expect(parseJson(text)).toEqual(read);
  });

  test.each(["", "{", "01", "9007199254740993n", "[9007199254740993,]", "NaN"])("refuses %j", (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });
});

interface Cut {
  readonly pieces: Pick<JsonDocument, "text" | "line">[];
  readonly unfinished?: { line: number; reason: string };
  readonly error?: string;
}

function cut(chunks: readonly string[], depth: 0 | 1 = 0, limits?: JsonLimits): Cut {
  const splitter = new JsonSplitter(depth, "feed.ndjson", limits);
  const pieces: Cut["pieces"] = [];
  const add = ({ text, line }: JsonDocument) => pieces.push({ text, line });
  try {
    for (const chunk of chunks) for (const document of splitter.push(chunk)) add(document);
    const { document, unfinished } = splitter.end();
    if (document !== undefined) add(document);
    return { pieces, ...(unfinished && { unfinished }) };
  } catch (error) {
    return { pieces, error: (error as Error).message };
  }
}

/** A text in chunks: cut at some places, and cut everywhere. */
const inChunks = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.array(fc.nat())).map(([whole, places]) => {
    const cuts = [0, ...places.map((place) => place % (whole.length + 1)), whole.length].sort((a, b) => a - b);
    return { whole, some: cuts.slice(1).map((end, index) => whole.slice(cuts[index], end)), all: whole.split("") };
  });

const values = fc.array(value, { maxLength: 6 });
const lineOf = (text: string, offset: number) => text.slice(0, offset).split("\n").length;

describe("a JSON text of many values", () => {
  const anyText = fc.oneof(
    fc.array(fc.constantFrom(...'{}[]",:\\ \n1a'), { maxLength: 40 }).map((characters) => characters.join("")),
    values.map((all) => all.map((one) => JSON.stringify(one, asText, 2)).join("\n")),
    fc.string({ unit: "binary" }),
  );

  test.each([
    [0, undefined],
    [0, rowLimits],
    [1, undefined],
  ] as const)("gives the same pieces whatever way it arrives, at depth %i with limits %j", (depth, limits) => {
    fc.assert(
      fc.property(inChunks(anyText), ({ whole, some, all }) => {
        expect(cut(some, depth, limits)).toEqual(cut([whole], depth, limits));
        expect(cut(all, depth, limits)).toEqual(cut([whole], depth, limits));
      }),
      { numRuns: 500 },
    );
  });

  // Each of the forms: what stands before the values, between two of them, and behind them.
  test.each([
    ["NDJSON", "", "\n", "\n"],
    ["NDJSON with empty lines and Windows line ends", "\r\n", "\r\n\r\n", ""],
    ["values one after the other", "", " ", ""],
    ["an array", "[", ",", "]"],
    ["an array, a value a line", "[\n", ",\n", "\n]\n"],
  ])("is cut into its values: %s", (_, before, between, behind) => {
    fc.assert(
      fc.property(values, fc.constantFrom(0, 2), (all, indent) => {
        // A text that begins with a bracket is a list: the values themselves are none.
        const printed = all.map((one) => JSON.stringify({ one }, asText, indent));
        const text = before + printed.join(between) + behind;
        const { pieces, unfinished } = cut([text]);
        expect(unfinished).toBeUndefined();
        expect(pieces.map((piece) => piece.text)).toEqual(printed);
        let offset = before.length;
        for (const [index, piece] of pieces.entries()) {
          expect(piece.line).toBe(lineOf(text, offset));
          offset += (printed[index] ?? "").length + between.length;
        }
      }),
    );
  });

  test.each([
    ["nothing", "", []],
    ["only space", " \n\t\n", []],
    ["an empty list", "[ ]", []],
    ["numbers and words", "1 true\nnull", ["1", "true", "null"]],
    ["a value without a line end", '{"a":1}', ['{"a":1}']],
    ["values without anything between", '{"a":1}{"b":2}[3]', ['{"a":1}', '{"b":2}', "[3]"]],
    ["brackets in a text", '{"a":"}]{["}\n"]"', ['{"a":"}]{["}', '"]"']],
    ["quotes in a text", '{"a":"\\"}{\\\\"}\n{"b":"\\\\\\""}', ['{"a":"\\"}{\\\\"}', '{"b":"\\\\\\""}']],
    ["line separators in a text", '{"a":"\u2028\u2029"}', ['{"a":"\u2028\u2029"}']],
    ["lists in a list", '[[1,2],["]"],[]]', ["[1,2]", '["]"]', "[]"]],
    ["two lists", "[1,2]\n[3]", ["1", "2", "3"]],
  ])("is cut into its values: %s", (_, text, pieces) => {
    expect(cut([text]).pieces.map((piece) => piece.text)).toEqual(pieces);
    expect(cut([text]).unfinished).toBeUndefined();
  });

  test.each([
    ["lists", '{"products": [{"a": 1},\n {"b": [2]}]}', ['"products"', '[{"a": 1},\n {"b": [2]}]'], [1, 1]],
    ["nothing", "{ }", [], []],
    [
      "plain values",
      '{"a":1 ,"b" :\n"x:y","c": null}',
      ['"a"', "1", '"b"', '"x:y"', '"c"', "null"],
      [1, 1, 1, 2, 2, 2],
    ],
    ["objects", '{"a":{"b":{"c":1}},"d":{}}', ['"a"', '{"b":{"c":1}}', '"d"', "{}"], [1, 1, 1, 1]],
  ])("gives the names and values of an object of %s", (_, text, pieces, lines) => {
    const found = cut([text], 1).pieces;
    expect(found.map((piece) => piece.text)).toEqual(pieces);
    expect(found.map((piece) => piece.line)).toEqual(lines);
  });

  test.each([
    ["an object", '{"a":1}\n{"b":\n', 3, "inside the document that starts at line 2"],
    ["a text", '{"a":1}\n"b', 2, "inside the document that starts at line 2"],
    ["a text behind a backslash", '"b\\"', 1, "inside the document that starts at line 1"],
    ["an element of a list", '[\n1,\n{"a":', 3, "inside the document that starts at line 3"],
    ["a list", "[\n1,\n2\n", 4, "before the array is closed"],
    ["a list that has just begun", "[", 1, "before the array is closed"],
  ])("is reported as unfinished when it ends within %s", (_, text, line, reason) => {
    expect(cut([text]).unfinished).toEqual({ line, reason: expect.stringContaining(reason) });
  });

  test.each([
    ["a closing bracket", '{"a":1}\n}\n{"b":2}', "}", 2],
    ["a closing bracket at the start", '\n]{"b":2}', "]", 2],
    ["a closing bracket behind a list", "[1]\n]", "]", 2],
    ["a brace where the list's bracket should be", "[1\n}", "}", 2],
  ])("shows %s as a piece that is no JSON", (_, text, stray, line) => {
    expect(cut([text]).pieces).toContainEqual({ text: stray, line });
  });

  const fields = (count: number) => Array.from({ length: count }, (_, index) => `"f${index}":""`).join(",");
  const nested = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  const long = (length: number) => `{"a":"${"x".repeat(length - 8)}"}`;
  test.each([
    ["64 levels", nested(64), undefined],
    ["65 levels", nested(65), "row nested more than 64 levels deep"],
    ["65 levels in a list", `[${nested(65)}]`, "row nested more than 64 levels deep"],
    ["1,000 fields", `{${fields(1000)}}`, undefined],
    ["1,001 fields", `{${fields(1001)}}`, "row with more than 1000 fields"],
    ["1,001 fields in nested objects", `{"a":[{${fields(500)}},{${fields(500)}}]}`, "row with more than 1000 fields"],
    ["1,000 fields and colons in a text", `{${fields(999)},"last":"${":".repeat(1000)}"}`, undefined],
    ["a million characters", long(1_048_576), undefined],
    ["more than a million", long(1_048_577), "row longer than 1048576 characters; a closing bracket or quote may be"],
  ])("as rows of a feed refuses only what exceeds the limits: %s", (_, row, problem) => {
    const text = `{"a":""}\n\n${row}\n{"b":""}`;
    const inList = `[{"a":""},\n\n${row},{"b":""}]`;
    const pieces = text.match(/..?/gs) ?? [];
    for (const chunks of row.startsWith("[") ? [[text]] : [[text], pieces, [inList]]) {
      const { pieces: found, error } = cut(chunks, 0, rowLimits);
      if (problem === undefined) expect(found.map((piece) => piece.text)).toEqual(['{"a":""}', row, '{"b":""}']);
      else expect(error).toStartWith(`feed.ndjson:3: ${problem}`);
    }
    expect(cut([text]).pieces).toHaveLength(3);
  });

  test.each([
    ["an object", '[{"a":1}]\n{"b":2}', 2],
    ["a word", '[{"a":1}]junk', 1],
    ["a text", '[]\n\n"b"', 3],
    ["a number", "[1] \n7", 2],
  ])("is refused with %s after a closed list", (_, text, line) => {
    for (const limits of [undefined, rowLimits]) {
      const error = `feed.ndjson:${line}: text after the end of the JSON list`;
      expect(cut([text], 0, limits).error).toBe(error);
      expect(cut(text.split(""), 0, limits).error).toBe(error);
    }
  });

  test("may be several lists, but not in a feed", () => {
    expect(cut(["[1]\n[2]"]).pieces.map(({ text }) => text)).toEqual(["1", "2"]);
    expect(cut(["[1]\n[2]"], 0, rowLimits).error).toBe("feed.ndjson:2: text after the end of the JSON list");
  });

  test.each(["\n", "\r\n", " ", ","])("is refused after a million of %j between two values", (separator) => {
    const text = (count: number) => `{"a":1}${separator.repeat(count / separator.length)}{"b":2}`;
    expect(cut([text(1_000_000)]).pieces).toHaveLength(2);
    expect(cut([text(1_000_002)]).error).toMatch(
      /^feed\.ndjson:\d+: more than 1000000 blank lines, spaces, or commas in a row$/,
    );
    expect(cut([`{"a":[1${separator.repeat(1_000_002 / separator.length)}]}`]).pieces).toHaveLength(1);
  });

  test("of over 64 Mi characters without an end is refused before it fills the memory", () => {
    const splitter = new JsonSplitter();
    const chunk = "x".repeat(1024 * 1024);
    const push = () => {
      for (let count = 0; count < 70; count++) for (const _ of splitter.push(count === 0 ? `\n"${chunk}` : chunk));
    };
    expect(push).toThrow("the text:2: document longer than 67108864 characters");
  });
});

/** For printing with an indent: a bigint as text. */
function asText(_: string, member: unknown): unknown {
  return typeof member === "bigint" ? `${member}` : member;
}

/** As feeds have them and as they should not: numbers in several spellings, and what is none. */
const sequence = fc.oneof(
  fc.nat({ max: 30 }).map(String),
  fc.nat({ max: 30 }).map((number) => `0${number}`),
  fc.integer({ min: -5, max: 5 }).map((number) => ` ${number}.50 `),
  fc.constantFrom("", " ", "x", "10a", "1e3", "0x10", "Infinity", "NaN", "-", ".", "1.", ".5", "+7", "１"),
  fc.string(),
);

const isNumeric = (text: string) => /^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$/.test(text);

describe("display sequences", () => {
  test("have one order: reflexive, antisymmetric, transitive", () => {
    fc.assert(
      fc.property(sequence, sequence, sequence, (a, b, c) => {
        const sign = (x: string, y: string) => Math.sign(compareSequence(x, y));
        expect(sign(a, a)).toBe(0);
        expect(sign(a, b) + sign(b, a)).toBe(0);
        expect(sign(a, b) === 0).toBe(a === b);
        if (sign(a, b) <= 0 && sign(b, c) <= 0) expect(sign(a, c)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 1000 },
    );
  });

  test("have numbers first, by value, and what is no number last", () => {
    fc.assert(
      fc.property(fc.array(sequence), (sequences) => {
        const sorted = sequences.toSorted(compareSequence);
        const numbers = sorted.filter(isNumeric);
        expect(sorted.slice(0, numbers.length)).toEqual(numbers);
        expect(numbers.map(Number)).toEqual(numbers.map(Number).toSorted((a, b) => a - b));
      }),
    );
  });

  test.each([
    ["as numbers, not as text", ["10", "9", "1"], ["1", "9", "10"]],
    ["equal numbers as text", ["10", "010", "10.0", "9"], ["9", "010", "10", "10.0"]],
    ["with a sign, a point, a space", ["+2", ".5", "-1", " 1 "], ["-1", ".5", " 1 ", "+2"]],
    ["no numbers last, as text", ["x", "", "1e0", "0x1", "NaN", "99999"], ["99999", "", "0x1", "1e0", "NaN", "x"]],
  ])("are put in order %s", (_, sequences, sorted) => {
    expect(sequences.toSorted(compareSequence)).toEqual(sorted);
  });
});
