import { describe, expect, test } from "bun:test";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { CsvReader, type CsvRecord, maxRecordLength } from "../../src/feed/csv.ts";
import { type Delimiter, delimiters } from "../../src/feed/format.ts";

function readAll(pieces: readonly string[], delimiter?: Delimiter): CsvRecord[] {
  const reader = new CsvReader("feed.csv", delimiter);
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
}

/** A record in the format of this file's tables: its line and fields, or its line and problem. */
const summarize = (records: readonly CsvRecord[]) =>
  records.map((record): [number, ...string[]] =>
    record.problem === undefined ? [record.line, ...record.fields] : [record.line, `! ${record.problem}`],
  );

function split(text: string, offsets: readonly number[]): string[] {
  const ends = [...offsets.map((offset) => offset % (text.length + 1)), text.length].sort((a, b) => a - b);
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
}

/** Splits a text in no place, in each place, in all places, and in the given places. */
const splits = (text: string, offsets: readonly number[]) => [
  [text],
  ...Array.from(text, (_, index) => [text.slice(0, index), text.slice(index)]),
  text.split(""),
  split(text, offsets),
];

interface Sample {
  readonly text: string;
  readonly delimiter: Delimiter;
  readonly lineEnd: string;
  readonly expected: readonly { readonly line: number; readonly fields: string[] }[];
}

interface Cell {
  readonly value: string;
  readonly isQuoted: boolean;
}

/** Files as exports write them, with their records. */
const file: fc.Arbitrary<Sample> = fc
  .tuple(fc.constantFrom(...delimiters), fc.constantFrom("\n", "\r\n", "\r"), fc.boolean())
  .chain(([delimiter, lineEnd, isEndless]) => {
    // A file whose lines end in CR cannot contain other line ends.
    const parts = ["a", "é😀", " ", "\0", '"', ...delimiters, ...(lineEnd === "\r" ? [] : ["\n", "\r", "\r\n"])];
    const cell = (...of: string[]): fc.Arbitrary<Cell> =>
      fc
        .record({
          value: fc.array(fc.constantFrom(...of), { maxLength: 4 }).map((all) => all.join("")),
          isQuoted: fc.boolean(),
        })
        .map(({ value, isQuoted }) => ({ value, isQuoted: isQuoted || /[",;\t|\r\n]/.test(value) }));
    const header = fc.array(cell(...parts), { minLength: 2, maxLength: 4 });
    const rows = fc.array(fc.array(cell(...parts), { minLength: 1, maxLength: 4 }), { maxLength: 4 });
    const blanks = fc.array(fc.nat({ max: 2 }), { minLength: 5, maxLength: 5 });
    return fc.tuple(header, rows, blanks).map(([first, others, emptyLines]) => {
      let text = "";
      let line = 1;
      const expected: { line: number; fields: string[] }[] = [];
      [first, ...others].forEach((cells, index) => {
        // Blank lines and a header, all ending in CR, are ambiguous without further lines.
        const empty = lineEnd === "\r" && others.length === 0 ? 0 : (emptyLines[index] ?? 0);
        text += lineEnd.repeat(empty);
        line += empty;
        const raw = cells
          .map(({ value, isQuoted }) => (isQuoted ? `"${value.replaceAll('"', '""')}"` : value))
          .join(delimiter);
        if (raw !== "") expected.push({ line, fields: cells.map(({ value }) => value) });
        text += raw + lineEnd;
        line += raw.split(lineEnd.slice(-1)).length;
      });
      return { text: isEndless ? text.slice(0, -lineEnd.length) : text, delimiter, lineEnd, expected };
    });
  });

const offsets = fc.array(fc.nat(), { maxLength: 8 });

describe("a CSV file", () => {
  test("has the records that another parser finds, with their lines, however it is split", () => {
    fc.assert(
      fc.property(file, offsets, ({ text, delimiter, lineEnd, expected }, at) => {
        const options = { delimiter, record_delimiter: lineEnd, relax_column_count: true };
        const rows = parse(text, { ...options, skip_empty_lines: true });
        expect(rows).toEqual(expected.map(({ fields }) => fields));
        for (const pieces of splits(text, at)) expect(readAll(pieces)).toEqual([...expected]);
      }),
      { numRuns: 300 },
    );
  });

  test("gives the same records however it is split, even if it is invalid", () => {
    const anything = fc
      .array(fc.constantFrom("a", "é", ",", ";", '"', '""', "\n", "\r", "\r\n", "a,b\n"), { maxLength: 14 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(anything, offsets, (text, at) => {
        const whole = readAll([text]);
        for (const pieces of splits(text, at)) expect(readAll(pieces)).toEqual(whole);
      }),
      { numRuns: 1000 },
    );
  });

  const stray = "! quote inside an unquoted field";
  const strayReturn = "! CR inside an unquoted field, and the lines before it end in LF: line ends are mixed";
  const strayNewline = "! LF inside an unquoted field, and the lines before it end in CR: line ends are mixed";
  const textAfterQuote = "! text after a closing quote";
  const unclosed = "! missing closing quote: the file ends inside this row";
  test.each<[string, string, ...[number, ...string[]][]]>([
    ["nothing", ""],
    ["nothing but empty lines", "\n\r\n\n"],
    ["only a header", "a,b", [1, "a", "b"]],
    ["only a header with its line end", "a,b\r\n", [1, "a", "b"]],
    ["only a header that ends in CR", "a,b\r", [1, "a", "b"]],
    ["leading blank lines", "\r\n\r\na,b\r\n1,2\r\n", [3, "a", "b"], [4, "1", "2"]],
    ["leading blank lines that end in CR", "\r\ra,b\r1,2", [3, "a", "b"], [4, "1", "2"]],
    ["leading blank lines and a header that end in CR", "\r\ra,b\r", [3, "a", "b"]],
    ["empty lines between and at the end", "a,b\n\n1,2\n\r\n\n3,4\n\n", [1, "a", "b"], [3, "1", "2"], [6, "3", "4"]],
    ["lines of spaces and of empty fields", "a,b\n ,\n,\n", [1, "a", "b"], [2, " ", ""], [3, "", ""]],
    ["a line that is one quoted empty field", 'a,b\n""\n1,2', [1, "a", "b"], [2, ""], [3, "1", "2"]],
    ["mixed line ends", "a,b\r\n1,2\n3,4\r\n", [1, "a", "b"], [2, "1", "2"], [3, "3", "4"]],
    ["a CR inside a field", "a,b\n1\r1,2\r\n3,4", [1, "a", "b"], [2, strayReturn], [3, "3", "4"]],
    ["a CR inside a field after a quoted one", 'a,b\n"1",2\r2\r\n', [1, "a", "b"], [2, strayReturn]],
    ["a CR at the start of a row", "a,b\n\r1,2\n", [1, "a", "b"], [2, strayReturn]],
    ["a CR as line end among others", "a,b\n1,2\r3,4\n", [1, "a", "b"], [2, strayReturn]],
    ["lines that end in CR, CR, LF", "a,b\r\r\n1,2\r\r\n\r\r\n3,4", [1, "a", "b"], [2, "1", "2"], [4, "3", "4"]],
    ["a quoted field before CR, CR, LF", 'a,"b"\n1,"2"\r\r\n3,4\r', [1, "a", "b"], [2, "1", "2"], [3, "3", "4"]],
    ["a header that ends in CR, and CRLF after it", "a,b\r1,2\r\n3,4\r\n", [1, "a", "b"], [2, "1", "2"], [3, "3", "4"]],
    [
      "a header that ends in CR, and LF after it",
      "a,b\r1,2\n3,4\r5,6",
      [1, "a", "b"],
      [2, strayNewline],
      [3, "5", "6"],
    ],
    ["quotes in quotes", '"a""b","""",""\n', [1, 'a"b', '"', ""]],
    ["a stray quote", 'a,b\n1,5" pipe\n3,4\n', [1, "a", "b"], [2, stray], [3, "3", "4"]],
    ["a stray quote at the end of a field", 'a,b\n1",2\n', [1, "a", "b"], [2, stray]],
    ["a space before a quote", 'a,b\n1, "2"\n', [1, "a", "b"], [2, stray]],
    ["text after a closing quote", 'a,b\n"1"x,2\n3,4\n', [1, "a", "b"], [2, textAfterQuote], [3, "3", "4"]],
    ["a space after a closing quote", 'a,b\n1,"2" \r\n3,4\n', [1, "a", "b"], [2, textAfterQuote], [3, "3", "4"]],
    ["a quote after a closing quote", 'a,b\n"1" "x",2\n', [1, "a", "b"], [2, textAfterQuote]],
    ["a stray quote in a multi-line row", 'a,b\n"1\n2",5"\n3,4', [1, "a", "b"], [2, stray], [4, "3", "4"]],
    ["an unclosed quote at the end", 'a,b\n1,2\n3,"4\n5,6\n', [1, "a", "b"], [2, "1", "2"], [3, unclosed]],
    ["a quote as the last character", 'a,b\n1,"', [1, "a", "b"], [2, unclosed]],
    ["a doubled quote as the last characters", 'a,b\n1,"x""', [1, "a", "b"], [2, unclosed]],
    ["an unclosed quote in the header", 'a,"b\n1,2\n', [1, unclosed]],
    ["multi-line values", 'a,b\n"1\n\n1","2\r\n2"\n3,4', [1, "a", "b"], [2, "1\n\n1", "2\r\n2"], [6, "3", "4"]],
    ["a multi-line header", '"a\na",b\n1,2\n', [1, "a\na", "b"], [3, "1", "2"]],
    ["multi-line values with CR line ends", 'a,b\r"1\r1",2\r3,4', [1, "a", "b"], [2, "1\r1", "2"], [4, "3", "4"]],
    [
      "marks of joined files",
      '\ufeffa,b\r\n1,2\r\n\x1a\ufeff3,4\n\ufeff\ufeff"5",6\n\x1a',
      [1, "a", "b"],
      [2, "1", "2"],
      [3, "3", "4"],
      [4, "5", "6"],
    ],
    ["marks of joined files before a header", "\n\x1a\n\ufeffa;b\n1;2", [3, "a", "b"], [4, "1", "2"]],
    ["marks of joined files, and CR line ends", "a,b\r\ufeff1,2\r\x1a3,4", [1, "a", "b"], [2, "1", "2"], [3, "3", "4"]],
    [
      "the same characters in values",
      'a,\ufeffb\n"\ufeff1\n\ufeff1\n\x1a","\x1a2"\n\x1a"\ufeff\n",\x1a',
      [1, "a", "\ufeffb"],
      [2, "\ufeff1\n\ufeff1\n\x1a", "\x1a2"],
      [5, "\ufeff\n", "\x1a"],
    ],
  ])("with %s gives its records and their lines", (_, text, ...records) => {
    for (const pieces of splits(text, [])) expect(summarize(readAll(pieces))).toEqual(records);
  });

  test("keeps the whole text of an invalid record", () => {
    const [, invalid] = readAll(['a,b\n"1\n2",5"\n3,4']);
    expect(invalid).toEqual({ line: 2, problem: stray.slice(2), text: '"1\n2",5"' });
  });

  test.each<[string, string, Delimiter]>([
    ["a,b\n1;1;1,2\n", "commas", ","],
    ["a;b\n1,1,1;2\n", "semicolons", ";"],
    ["a\tb\n", "tabs", "\t"],
    ["a|b", "pipes", "|"],
    ['"a,x,y,z";b\n', "semicolons, despite commas in quotes", ";"],
    ['"a;""x;y";"b"",|\t,|"\n', "semicolons, despite others after doubled quotes", ";"],
    ['"a\n,,,";b\n', "semicolons, despite a two-line header", ";"],
    ["\n\n\na;b\n1,1,1;2\n", "semicolons, below blank lines", ";"],
    ["a;b,c;d\n", "more semicolons than commas", ";"],
    ["a\n1;2\n", "commas if it has none", ","],
    ["", "commas if it is empty", ","],
  ])("with the header %p is delimited by %s", (text, _, delimiter) => {
    for (const pieces of splits(text, [])) {
      const reader = new CsvReader("feed.csv");
      for (const piece of pieces) reader.push(piece);
      reader.end();
      expect(reader.delimiter).toBe(delimiter);
    }
  });

  test("is read with the configured delimiter, whatever the header looks like", () => {
    expect(summarize(readAll(["a;b;c,d\n1;2\n"], ","))).toEqual([
      [1, "a;b;c", "d"],
      [2, "1;2"],
    ]);
  });

  const block = "x".repeat(64 * 1024);
  const tooLong = Array.from({ length: maxRecordLength / block.length + 1 }, () => block);
  test.each<[string, string, number]>([
    ["the header has no end", "", 1],
    ["the header has an open quote", '"', 1],
    ["a line has no end", "a,b\n1,2\n\n", 4],
    ["a quote is not closed", 'a,b\r\n"1\r\n1",2\r\n"', 4],
    ["a line has no end, after CR line ends", "a,b\r1,2\r", 3],
  ])("is rejected with name and line if %s", (_, start, line) => {
    expect(() => readAll([start, ...tooLong])).toThrow(
      `feed.csv:${line}: row longer than 1048576 characters; a closing quote may be missing, or the file is not CSV`,
    );
  });

  test.each<[string, string, string, string]>([
    ["in one line", "", "", "\n"],
    ["in one line that ends in CRLF", "", "", "\r\n"],
    ["in one line that ends in CR", "", "", "\r"],
    ["in quotes", '"', '",', "\n"],
    ["over two lines that end in CRLF", '"1\n', '"', "\r\n"],
    ["over two lines that end in CR", '"1\r', '"', "\r"],
    ["without a line end", "", "", ""],
  ])("can have a row of the maximum length, and not a character more, %s", (_, start, close, lineEnd) => {
    const ofLength = (length: number) => start + "x".repeat(length - start.length - close.length) + close + lineEnd;
    const header = `a,b${lineEnd || "\n"}`;
    for (const size of [1, 7, 20]) {
      const piecesOf = (length: number) => {
        const text = header + ofLength(length);
        // The pieces differ at the end, where the limit is.
        const tail = text.length - 20;
        return [
          ...(text.slice(0, tail).match(/.{1,50000}/gs) ?? []),
          ...(text.slice(tail).match(new RegExp(`.{1,${size}}`, "gs")) ?? []),
        ];
      };
      expect(readAll(piecesOf(maxRecordLength))).toMatchObject([{ line: 1 }, { line: 2 }]);
      expect(() => readAll(piecesOf(maxRecordLength + 1))).toThrow(/^feed\.csv:2: row longer than 1048576 characters/);
    }
    expect(() => readAll([`${header}${ofLength(maxRecordLength + 1)}`])).toThrow(/^feed\.csv:2: row longer/);
  });

  test.each(["\n", "\r\n", "\r"])("is rejected after a million blank lines that end in %j", (lineEnd) => {
    const blank = (count: number) => lineEnd.repeat(count).match(/.{1,65536}/gs) ?? [];
    const [header, row] = [`a,b${lineEnd}`, `1,2${lineEnd}`];
    expect(readAll([...blank(1_000_000), header, ...blank(1_000_000), row, ...blank(1_000_000)])).toMatchObject([
      { line: 1_000_001 },
      { line: 2_000_002 },
    ]);
    const message = /^feed\.csv:\d+: more than 1000000 blank lines in a row$/;
    expect(() => readAll(blank(1_000_001))).toThrow(message);
    expect(() => readAll([...blank(1_000_001), header, row])).toThrow(message);
    expect(() => readAll([header, ...blank(1_000_001), row])).toThrow(message);
    expect(() => readAll([header, row, ...blank(1_000_001)])).toThrow(message);
  });

  test("can have several long records", () => {
    const fields = ["a,b\n", ...tooLong.slice(2), "\n", ...tooLong.slice(2), ",2\n"];
    expect(readAll(fields).map(({ line }) => line)).toEqual([1, 2, 3]);
  });
});
