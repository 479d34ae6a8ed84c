import { describe, expect, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { TextDecoding } from "../../src/feed/decode.ts";
import { encodings, type TextEncoding } from "../../src/feed/format.ts";

interface Decoded {
  readonly text?: string;
  readonly encoding?: TextEncoding;
  readonly error?: string;
}

/** Decodes the chunks of a file. */
function decode(chunks: readonly Uint8Array[], encoding?: TextEncoding): Decoded {
  const decoding = new TextDecoding("feed.csv", encoding);
  try {
    const text = [...chunks.map((chunk) => decoding.push(chunk)), decoding.end()].join("");
    return { text, encoding: decoding.encoding };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

const windows1252 = new Map(
  Array.from({ length: 256 }, (_, byte) => [new TextDecoder("windows-1252").decode(Uint8Array.of(byte)), byte]),
);

const encoders: Readonly<Record<TextEncoding, (text: string) => Buffer>> = {
  "utf-8": (text) => Buffer.from(text),
  "utf-16le": (text) => Buffer.from(text, "utf16le"),
  "utf-16be": (text) => Buffer.from(text, "utf16le").swap16(),
  "windows-1252": (text) => Buffer.from(Array.from(text, (character) => windows1252.get(character) ?? Number.NaN)),
};
const byteOrderMark = "\ufeff";

const header = "sku_id,style_code,style_display_seq,style_sku_status\n";
const latin = "Café,Menü,Straße,5 €,“zwölf” – …,Žižka,ÀÉÎÕÜ\n";
const anyScript = "é,Ł,я,日本語,😀,\u{10ffff},\ufffd,ਅ,Ċ\n";
/** Longer than the inspected start of a file. */
const padding = "MUG,SCRIPT,10,A\n".repeat(600);
const paddingLines = 600;

/** Splits a file into chunks of one size. */
const inChunks = (bytes: Uint8Array, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

/**
 * A file whole, in chunks of several sizes, split at each of its last offsets, and at given ones.
 */
function splits(bytes: Uint8Array, offsets: readonly number[] = []): Uint8Array[][] {
  const ends = [...offsets.map((offset) => offset % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  const lastOffsets = Array.from({ length: Math.min(bytes.length, 30) }, (_, index) => bytes.length - index);
  return [
    [bytes],
    ...[1, 2, 3, 7, 4096].map((size) => inChunks(bytes, size)),
    ...lastOffsets.map((offset) => [bytes.subarray(0, offset), bytes.subarray(offset)]),
    ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)),
  ];
}

function expectDecoded(
  bytes: Uint8Array,
  expected: Decoded,
  encoding?: TextEncoding,
  offsets?: readonly number[],
): void {
  for (const chunks of splits(bytes, offsets)) expect(decode(chunks, encoding)).toEqual(expected);
}

describe("a file, however it is split,", () => {
  test.each<[string, string, TextEncoding, string]>([
    ["ASCII", header, "utf-8", ""],
    ["UTF-8", header + anyScript, "utf-8", ""],
    ["UTF-8 with a byte order mark", header + anyScript, "utf-8", byteOrderMark],
    ["UTF-8 that appears late", header + padding + anyScript, "utf-8", ""],
    ["UTF-8 with a byte order mark inside a line", `${header}${padding}x${byteOrderMark}é\n`, "utf-8", ""],
    ["UTF-8 with only replacement characters", `${header}\ufffd\ufffd\n`, "utf-8", ""],
    ["UTF-16LE with a byte order mark", header + anyScript, "utf-16le", byteOrderMark],
    ["UTF-16BE with a byte order mark", header + anyScript, "utf-16be", byteOrderMark],
    ["UTF-16LE without a byte order mark", header + anyScript, "utf-16le", ""],
    ["UTF-16BE without a byte order mark", header + anyScript, "utf-16be", ""],
    ["Windows-1252", header + latin, "windows-1252", ""],
    ["Windows-1252 that appears late", header + padding + latin, "windows-1252", ""],
    ["Windows-1252 with its only é as the last byte", `${header}Café`, "windows-1252", ""],
    ["Windows-1252 with é” as the last bytes", `${header}“Café”`, "windows-1252", ""],
    ["Windows-1252 with one sequence of valid UTF-8", `${header}“MENÜ”,é,ö\n`, "windows-1252", ""],
    ...["я", "日", "語", "一", "ج", "א", "ก", "अ", "\u3000", "ਅ", "😀"].flatMap((letter) =>
      (["utf-16le", "utf-16be"] as const).map((encoding): [string, string, TextEncoding, string] => [
        `${encoding} without a byte order mark that is mostly ${letter}`,
        `${"x,y,z,q\n"}${`${letter.repeat(150)},1,2,A\n`.repeat(40)}`,
        encoding,
        "",
      ]),
    ),
    ["UTF-16 of a header alone in another script", "編號,樣式,順序,狀態\n", "utf-16be", ""],
    [
      "UTF-8 with NUL bytes at the ends of lines",
      Array.from({ length: 300 }, (_, index) => `${"x".repeat(20 + (index % 7))},b,c\0\n`).join(""),
      "utf-8",
      "",
    ],
    ["only a byte order mark", "", "utf-8", byteOrderMark],
  ])("is detected as %s", (_, text, encoding, begin) => {
    expectDecoded(encoders[encoding](begin + text), { text, encoding });
  });

  test.each<[string, string]>([
    ["at the end of the text", `${header}é${byteOrderMark}${byteOrderMark}`],
    ["alone at the end", `${header}é\n${byteOrderMark}`],
    ["at the beginning, twice", `${byteOrderMark}é`],
  ])("has no byte order marks %s", (_, text) => {
    for (const encoding of ["utf-8", "utf-16le"] as const) {
      const expected = { text: text.replaceAll(byteOrderMark, ""), encoding };
      expectDecoded(encoders[encoding](byteOrderMark + text), expected);
    }
  });

  test.each<[string, string]>([
    ["at the end", `${header}é\r\n\x1a`],
    ["after the last value", `${header}é\x1a`],
  ])("has no characters that end a file under DOS %s", (_, text) => {
    expectDecoded(encoders["utf-8"](text), { text: text.replaceAll("\x1a", ""), encoding: "utf-8" });
  });

  test("keeps marks inside, even at starts of lines, because they may be part of a value", () => {
    const text = `${header}é,"a\n${byteOrderMark}\x1ab"\r\x1ax,y\r\n`;
    for (const encoding of ["utf-8", "utf-16le"] as const) {
      expectDecoded(encoders[encoding](byteOrderMark + text), { text, encoding });
    }
  });

  test("can be empty", () => {
    expectDecoded(new Uint8Array(), { text: "", encoding: "utf-8" });
    expectDecoded(new Uint8Array(), { text: "", encoding: "windows-1252" }, "windows-1252");
  });

  test.each(["é", "ü", "ß", "€", "“", "”", "–", "…", '"Menü”"', '"é”"', "“é”", "été à la crème", "½ ©", "naïve™"])(
    "does not count as mixed because of %s in Windows-1252",
    (value) => {
      const text = `${header}MUG,${value},1,A\n`;
      expectDecoded(encoders["windows-1252"](text), { text, encoding: "windows-1252" });
    },
  );

  test("has the same text in any encoding", () => {
    const offsets = fc.array(fc.nat(), { maxLength: 6 });
    const rows = fc.array(fc.string({ unit: "grapheme", maxLength: 8 }), { maxLength: 5 }).map((all) => all.join("\n"));
    fc.assert(
      fc.property(
        rows,
        fc.constantFrom(...encodings.slice(0, 3)),
        fc.boolean(),
        offsets,
        (row, encoding, isLate, cuts) => {
          const text = `${header}${isLate ? padding : ""}é,${row}`;
          expectDecoded(encoders[encoding](text), { text, encoding }, undefined, cuts);
          expectDecoded(encoders[encoding](text), { text, encoding }, encoding, cuts);
        },
      ),
      { numRuns: 25 },
    );
  });

  test("can have any non-ASCII bytes if Windows-1252 is configured", () => {
    const bytes = fc.uint8Array({ min: 0x80, max: 0xff, maxLength: 40 });
    fc.assert(
      fc.property(bytes, (row) => {
        const all = Buffer.concat([Buffer.from(header), row]);
        const text = new TextDecoder("windows-1252").decode(all);
        expectDecoded(all, { text, encoding: "windows-1252" }, "windows-1252");
      }),
      { numRuns: 25 },
    );
  });

  test("of any bytes gives the same text or the same error", () => {
    const part = fc.oneof(
      fc.constantFrom("é", "ü\n", "€", "“", "😀", "Ã", "\n", "a", byteOrderMark).map((text) => Buffer.from(text)),
      fc.constantFrom("é", "ü\n", "Ü”", "â€", "Ã", "Â").map((text) => encoders["windows-1252"](text)),
      fc.uint8Array({ maxLength: 3 }),
    );
    const start = fc.constantFrom("", header, header + padding).map((text) => Buffer.from(text));
    fc.assert(
      fc.property(start, fc.array(part, { maxLength: 6 }), fc.array(fc.nat()), (first, parts, offsets) => {
        const bytes = Buffer.concat([first, ...parts]);
        expectDecoded(bytes, decode([bytes]), undefined, offsets);
      }),
      { numRuns: 100 },
    );
  });
});

const bytesOf = (...parts: (string | readonly number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));
const in1252 = (text: string) => [...encoders["windows-1252"](text)];
const lateLine = paddingLines + 2;
/** A broken byte in the third line, and much later, text in UTF-8. */
const broken = (text: string) => bytesOf(header, "\ncaf", [0xe9], "\n", padding, text, "\n");

describe("a file, however it is split, is rejected", () => {
  const mixed = (line: number, byte: string, contrast = "other characters are") =>
    `${line}: mixed encodings: byte 0x${byte} is not UTF-8, but ${contrast}; fix the file, or set encoding = "windows-1252"`;
  const mixedUtf8 = (line: number, byte: string, utf8Line: number) => mixed(line, byte, `line ${utf8Line} has UTF-8`);
  test.each<[string, Uint8Array, string]>([
    ["Windows-1252 after UTF-8", bytesOf(header, "é,ü,ö\nü\n", in1252("Café\n")), mixed(4, "e9")],
    ["Windows-1252 long after UTF-8", bytesOf(header, "é,ü,ö\n", padding, in1252("Café\n")), mixed(lateLine + 1, "e9")],
    ["Windows-1252 after late UTF-8", bytesOf(header, padding, "é,ü,ö\n\n", in1252("ß\n")), mixed(lateLine + 2, "df")],
    [
      "Windows-1252 after a byte order mark and UTF-8",
      bytesOf(byteOrderMark, header, "é\n", in1252("ü\n")),
      mixed(3, "fc"),
    ],
    ["Windows-1252 right after a byte order mark", bytesOf(byteOrderMark, header, in1252("ü\n")), mixed(2, "fc")],
    ["Windows-1252 after a replacement character", bytesOf(header, "\ufffd\né,é\né\n", in1252("ü\n")), mixed(5, "fc")],
    [
      "Windows-1252 after a language with other letters",
      bytesOf(header, "łódź,źdźbło\n\n", in1252("é\n")),
      mixed(4, "e9"),
    ],
    ["an incomplete UTF-8 character", bytesOf(header, "é,日本\n", [0xe6, 0x97], "x\n"), mixed(3, "e6")],
    ["UTF-8 after Windows-1252", bytesOf(header, in1252("é,ö\nü\n"), "Café\n"), mixedUtf8(2, "e9", 4)],
    [
      "UTF-8 long after Windows-1252",
      bytesOf(header, in1252("é\n"), padding, "\nCafé\n"),
      mixedUtf8(2, "e9", lateLine + 2),
    ],
    ["curly quotes in UTF-8", bytesOf(header, in1252("é,ö,ü,ß\n"), "\nit’s\n"), mixedUtf8(2, "e9", 4)],
    [
      "curly quotes in UTF-8, much later",
      bytesOf(header, in1252("é\n"), padding, "it’s\n"),
      mixedUtf8(2, "e9", lateLine + 1),
    ],
    ["one broken byte before Western letters", broken("Café"), mixedUtf8(3, "e9", lateLine + 2)],
    ["one broken byte before curly quotes", broken("it’s"), mixedUtf8(3, "e9", lateLine + 2)],
    ["one broken byte before Japanese", broken("日本語"), mixedUtf8(3, "e9", lateLine + 2)],
    ["one broken byte before an emoji", broken("😀"), mixedUtf8(3, "e9", lateLine + 2)],
    ["one broken byte near Japanese", bytesOf(header, "\n", [0xff], "\n日本語\n"), mixed(3, "ff")],
    ["a byte order mark after Windows-1252", bytesOf(header, in1252("é\n"), byteOrderMark, "a"), mixedUtf8(2, "e9", 3)],
    ["a byte order mark at the end of it", bytesOf(header, in1252("é"), byteOrderMark), mixedUtf8(2, "e9", 2)],
    ["a degree sign in UTF-8", bytesOf(header, in1252("é,ö\n"), "5°\n"), mixedUtf8(2, "e9", 3)],
    ["an end inside a UTF-8 character", bytesOf(header, "é\né").subarray(0, -1), "3: ends inside a character"],
    ["an end inside the first UTF-8 character", bytesOf(header, "é").subarray(0, -1), "2: ends inside a character"],
    ["an end inside an emoji", bytesOf(header, "é\n\n😀").subarray(0, -1), "4: ends inside a character"],
    [
      "a late end inside a character",
      bytesOf(header, "é\n", padding, "日").subarray(0, -2),
      `${lateLine + 1}: ends inside a character`,
    ],
    [
      "an end inside a UTF-16 unit",
      encoders["utf-16le"](`${byteOrderMark}${header}ab`).subarray(0, -1),
      "2: ends inside a character",
    ],
    [
      "an end inside a surrogate pair",
      encoders["utf-16be"](`${header}ਅ\n😀`).subarray(0, -2),
      "3: ends inside a character",
    ],
    ["an unpaired surrogate", encoders["utf-16le"](`${byteOrderMark}${header}ਅ\nĊ\n\ud83dx\n`), "4: invalid UTF-16LE"],
  ])("with %s", (_, bytes, problem) => expectDecoded(bytes, { error: `feed.csv:${problem}` }));

  test.each<[string, TextEncoding, Uint8Array, string]>([
    ["Windows-1252", "utf-8", bytesOf(header, in1252("é,ü\n")), "2: invalid UTF-8 (byte 0xe9)"],
    [
      "a byte order mark",
      "windows-1252",
      bytesOf(header, byteOrderMark, "a"),
      "2: a byte order mark of UTF-8 in windows-1252; fix the file, or set its encoding",
    ],
    ["an unpaired surrogate", "utf-16be", encoders["utf-16be"](`${header}\udc00`), "2: invalid UTF-16BE"],
  ])("with %s if configured as %s", (_, encoding, bytes, problem) =>
    expectDecoded(bytes, { error: `feed.csv:${problem}` }, encoding),
  );

  test("for mixed encodings only if no encoding is configured", () => {
    const bytes = bytesOf(header, in1252("é,ö,ü\n"), "Café\n");
    expectDecoded(bytes, { text: `${header}é,ö,ü\nCafÃ©\n`, encoding: "windows-1252" }, "windows-1252");
  });

  const junk = Uint8Array.from({ length: 5000 }, (_, index) => (index * index * 31 + index * 7) % 256);
  const binary = /: starts with binary data; if it is UTF-16, set encoding = "utf-16le" or "utf-16be"$/;
  test.each<[string, Uint8Array, RegExp]>([
    ["gzip within gzip", gzipSync(header), /: compressed twice$/],
    ["zstd within zstd", zstdCompressSync(header), /: compressed twice$/],
    ["a ZIP archive", bytesOf("PK\x03\x04", padding), /: a ZIP archive or an Excel workbook; export it as CSV$/],
    ["an old Excel workbook", bytesOf([0xd0, 0xcf, 0x11, 0xe0], padding), /: an old Excel workbook; export it as CSV$/],
    ["a PDF", bytesOf("%PDF-1.7\n", padding), /: a PDF$/],
    ["junk", junk, binary],
    ["a few bytes of junk", Uint8Array.of(0, 0xfe, 1, 0x80), binary],
    ["nothing but NUL", new Uint8Array(10_000), binary],
  ])("as %s", (_, bytes, reason) => {
    for (const chunks of splits(bytes)) {
      const { error } = decode(chunks);
      expect(error).toStartWith("feed.csv: not a text file: ");
      expect(error).toMatch(reason);
    }
  });

  test("as junk, without a hint at the setting if it is set", () => {
    expect(decode([junk], "utf-8").error).toBe("feed.csv: not a text file: starts with binary data");
  });

  test("for control characters only if there are many", () => {
    const text = `${header}A\0B,\t,\x1b\n${padding}`;
    expectDecoded(Buffer.from(text), { text, encoding: "utf-8" });
    expectDecoded(Buffer.from("A\0B\n"), { text: "A\0B\n", encoding: "utf-8" });
  });
});
