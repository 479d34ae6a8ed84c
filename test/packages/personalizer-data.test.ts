import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toForm } from "../../packages/client/src/form.ts";
import { baseLabels, formLabels } from "../../packages/personalizer/src/default-labels.ts";
import { cleanText, countGraphemes, listRefused } from "../../packages/personalizer/src/form/characters.ts";
import { type Instruction, parseInstruction } from "../../packages/personalizer/src/form/instruction.ts";
import { isForm, isPersonalization } from "../../packages/personalizer/src/form/response.ts";
import { toStyles } from "../../packages/personalizer/src/form/styles.ts";
import type { Personalization } from "../../src/contract/personalization.ts";

const labels = { ...baseLabels, ...formLabels, texts: {} };

describe("toStyles and isPersonalization", () => {
  const code = fc.constantFrom("A", "B", "C", "__proto__", "");
  const text = fc.string({ maxLength: 2 });
  const answers: fc.Arbitrary<Personalization> = fc.record({
    pzlines: fc.array(fc.record({ sku_id: text, style_code: code, style_display_seq: text, style_sku_status: text })),
    pzstyles: fc.array(
      fc.record({
        style_code: code,
        line_status: text,
        line_display_seq: text,
        choice_type: code,
        instruct_text: text,
      }),
    ),
    pzchoices: fc.array(
      fc.record({ choice_type: code, choice_status: text, choice_display_seq: text, choice_value: text }),
    ),
  });
  const distinct = <Value>(values: readonly Value[]) =>
    values.filter((value, index) => values.indexOf(value) === index);

  test("keep the order of the response and drop duplicates", () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const choicesOf = (type: string) =>
          distinct(answer.pzchoices.filter((row) => row.choice_type === type).map((row) => row.choice_value));
        const isBlank = (value: string) => value.trim() === "";
        const linesOf = (code: string) =>
          answer.pzstyles
            .filter(({ style_code }) => style_code === code)
            .map(({ choice_type }) => choicesOf(choice_type))
            .filter((choices) => choices.length === 0 || !choices.every(isBlank))
            .map((choices) => choices.filter((value) => !isBlank(value)));
        const styles = toStyles(toForm(answer), labels, "en");
        const codes = distinct(answer.pzlines.map((line) => line.style_code));
        expect(styles.map((style) => style.code)).toEqual(codes.filter((one) => linesOf(one).length > 0));
        for (const { code, fields } of styles) {
          expect(fields.map(({ choices }) => choices.map(({ value }) => value))).toEqual(linesOf(code));
        }
      }),
    );
  });

  test("accept every response of the documented shape, and nothing else", () => {
    fc.assert(fc.property(answers, isPersonalization));
    fc.assert(fc.property(fc.anything(), (value) => !isPersonalization(value)));
    const row = { style_code: "A", line_status: "A", line_display_seq: "1", choice_type: "B", instruct_text: "C" };
    expect(isPersonalization({ pzlines: [], pzstyles: [row], pzchoices: [] })).toBe(true);
    expect(isPersonalization({ pzlines: [], pzstyles: [{ ...row, instruct_text: null }], pzchoices: [] })).toBe(false);
    expect(isPersonalization({ pzlines: [{}], pzstyles: [row], pzchoices: [] })).toBe(false);
    expect(isPersonalization({ pzlines: [], pzstyles: [row] })).toBe(false);
  });
});

describe("a form of the service", () => {
  const line = { instruct_text: "Monogram: up to 3 characters", name: "Initialen", choices: [] };
  const rules = {
    help: "Vor- und Nachname",
    limit: 2,
    characters: "[A-Z]",
    required: false,
    uppercase: true,
    image: "/a.svg",
  };

  test("gives names, help, and rules, which labels of the page may replace", () => {
    const toForm = (one: object, texts = {}) =>
      toStyles(
        [{ style_code: "MON", name: "Monogramm", image: "data:,", lines: [{ ...line, ...one }] }],
        { ...labels, texts },
        "de",
      )[0];
    expect(toForm(rules)).toEqual({
      code: "MON",
      name: "Monogramm",
      note: "Initialen",
      image: undefined,
      fields: [
        {
          key: "Monogram",
          label: "Initialen",
          hint: "Vor- und Nachname",
          optional: true,
          limit: 2,
          minimum: undefined,
          characters: "[A-Z]",
          uppercase: "de",
          image: "/a.svg",
          choices: [],
        },
      ],
    });
    expect(toForm({}, { MON: "Stickerei" })).toMatchObject({
      name: "Stickerei",
      fields: [{ label: "Initialen", hint: "up to 3 characters", limit: 3, optional: false }],
    });
    // A translation without the limit does not remove it.
    expect(toForm({}, { [line.instruct_text]: "Buchstaben" })?.fields[0]).toMatchObject({
      label: "Buchstaben",
      limit: 3,
    });
  });

  test("has another shape than a personalization", () => {
    const form = { styles: [{ style_code: "A", name: "B", lines: [line] }] };
    expect([isForm(form), isPersonalization(form)]).toEqual([true, false]);
    expect(isForm({ pzlines: [], pzstyles: [], pzchoices: [] })).toBe(false);
    expect(isForm({ styles: [{ ...form.styles[0], lines: [{ ...line, choices: [null] }] }] })).toBe(false);
  });
});

describe("the characters of a text", () => {
  test.each<[string, string | undefined, string[]]>([
    ["Zoë’s & Ānn 杏奈 ♥ ½", undefined, []],
    ["नमस्ते", undefined, []],
    ["می\u200cخواهم", undefined, []],
    ["葛\u{e0100}", undefined, []],
    ["🎁 Ann ❤️", undefined, ["🎁", "❤️"]],
    ["👩‍👩‍👧 🇫🇷 1️⃣", undefined, ["👩‍👩‍👧", "🇫🇷", "1️⃣"]],
    ["A\u200bnn\u202e", undefined, ["an invisible character"]],
    ["\u3164", undefined, ["an invisible character"]],
    ["\u{f0000}\ud800", undefined, ["an invisible character"]],
    ["Z\ufffde", undefined, ["\ufffd"]],
    [`A${"\u0302".repeat(50)}n`, "[\\p{L}\\p{M}]", ["A\u0302\u0302\u0302"]],
    ["བསྒྲུབས", undefined, []],
    [`x${`${"\u0316".repeat(7)}\u200d`.repeat(2)}`, undefined, ["x\u0316\u0316\u0316"]],
    ["\u0301A \u0302", undefined, ["◌\u0301", "◌\u0302"]],
    ["র\u200c্য A\u0302\u0323 ½\u0301", undefined, []],
    ["မာ", undefined, []],
    ["A\u2800", undefined, ["an invisible character"]],
    ["N\u034fA", undefined, ["an invisible character"]],
    ["A\ufe00 B\ufe0f", undefined, ["an invisible character"]],
    ["A\u{e0041}", "[A-Z]", ["an invisible character"]],
    ["e\u0301\u034f", "[A-Z]", ["e\u0301\u034f"]],
    ["ANN LEE", "[A-Z]", ["a space"]],
    ["2O26", "[0-9]", ["O"]],
    ["Zoë", "[\\p{L}\\p{M}]", []],
    ["🎁", "[\\p{Emoji}]", []],
    ["🎁", "[\\p{Unknown}]", ["🎁"]],
  ])("%j, if %p is allowed, has %j to remove", (text, characters, refused) => {
    expect(listRefused(text, characters, labels)).toEqual(refused);
  });

  test("are counted as a reader counts them", () => {
    expect(["Zoe\u0308", "👩‍👩‍👧", "नमस्ते", ""].map(countGraphemes)).toEqual([3, 1, 3, 0]);
  });

  test.each<[text: string, clean: string, uppercase: string | undefined]>([
    [" Zoe\u0308\u00a0L. ", "Zoë L.", undefined],
    ["\u200e\u2068 Ann \u2069\u200f\ufeff", "Ann", undefined],
    ["\u200d", "", undefined],
    ["\u200cAnn\u200d ", "Ann", undefined],
    ["Ann\u200d\u200c", "Ann", undefined],
    ["من\u200d\u200d", "من\u200d", undefined],
    ["Auf\u200cla", "Auf\u200cla", undefined],
    ["ipek", "İPEK", "tr"],
    ["ipek", "IPEK", "en"],
    ["straße", "STRASSE", "de"],
  ])("in %j are cleaned to %j, with capitals of %p", (text, clean, uppercase) => {
    expect(cleanText(text, uppercase)).toBe(clean);
  });
});

describe("parseInstruction", () => {
  const digits = "[0-9]";
  const letters = "[\\p{L}\\p{M}]";
  test.each<[string, Partial<Instruction>]>([
    ["Year: 4 digits, e.g. 2026", { limit: 4, characters: digits, minimum: 4 }],
    ["Established (optional): 4 digits", { limit: 4, characters: digits, minimum: 4 }],
    ["Up to 4 digits", { limit: 4, characters: digits }],
    ["Max 3 initials: first, LAST, middle", { limit: 3, characters: letters }],
    ["Initials: up to 3 letters", { limit: 3, characters: letters }],
    ["Family name: up to 12 characters", { limit: 12 }],
    ["Family name: up to 12 digits", { limit: 12 }],
    ["Up to 3 letters", { limit: 3 }],
    ["max. 3 letters", { limit: 3 }],
    ["Maximum of 10 characters", { limit: 10 }],
    ["No more than 15 letters", { limit: 15 }],
    ["12 characters max", { limit: 12 }],
    ["Block letters. Up to 20 characters, spaces included", { limit: 20 }],
    ["Up to 20 characters, or up to 10 letters with a monogram", { limit: 20 }],
    ["Up to 8 characters, or 4 digits", { limit: 8 }],
    ["Code: 4 digits, or up to 8 characters", { limit: 8 }],
    ["Up to 1,000 characters", { limit: 1000 }],
    ["At least 4 digits", {}],
    ["Number: 4 digits or more", {}],
    ["Between 3 and 12 characters", {}],
    ["Up to 2,000 characters", {}],
    ["Up to 3 lines", {}],
    ["Up to 0 characters", {}],
    ["3 characters", {}],
    ["The last 4 digits", {}],
  ])("reads %j with the limits %j", (text, limits) => {
    const { limit, characters, minimum } = parseInstruction(text, "optional");
    expect<Partial<Instruction>>({ limit, characters, minimum }).toEqual(limits);
  });

  test.each([
    ["Family name: up to 12 characters", "Family name", "up to 12 characters", false],
    ["Card (optional): up to 30 characters 🎁", "Card", "up to 30 characters 🎁", true],
    ["Ring size, US; if between two, choose the larger", "Ring size, US", "if between two, choose the larger", false],
    ["Block letters. Up to 20 characters", "Block letters", "Up to 20 characters", false],
    ["Choose a motif", "Choose a motif", "", false],
    ["Mr. Waffles (his name)", "Mr. Waffles (his name)", "", false],
    ["At 3:42", "At 3:42", "", false],
    ["x".repeat(61), "", "x".repeat(61), false],
    ["", "", "", false],
  ])("splits %j", (text, label, hint, optional) => {
    expect(parseInstruction(text, "optional")).toMatchObject({ label, hint, optional });
  });
});
