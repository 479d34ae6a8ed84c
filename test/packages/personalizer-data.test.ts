import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toForm } from "../../packages/client/src/form.ts";
import { parseInstruction } from "../../packages/personalizer/src/instruction.ts";
import { defaultLabels } from "../../packages/personalizer/src/labels.ts";
import { isPersonalization } from "../../packages/personalizer/src/response.ts";
import { toStyles } from "../../packages/personalizer/src/styles.ts";
import type { Personalization } from "../../src/model/personalization.ts";

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
        const styles = toStyles(toForm(answer), { ...defaultLabels, texts: {} });
        expect(styles.map((style) => style.code)).toEqual(distinct(answer.pzlines.map((line) => line.style_code)));
        for (const { code, fields } of styles) {
          const rows = answer.pzstyles.filter(({ style_code }) => style_code === code);
          const choicesOf = (type: string) =>
            distinct(answer.pzchoices.filter((row) => row.choice_type === type).map((row) => row.choice_value));
          expect(fields.map(({ choices }) => choices)).toEqual(
            rows.map(({ choice_type }) => choicesOf(choice_type).filter((value) => value.trim() !== "")),
          );
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
    expect(isPersonalization({ pzlines: [row], pzstyles: [row], pzchoices: [] })).toBe(false);
    expect(isPersonalization({ pzlines: [], pzstyles: [row] })).toBe(false);
  });
});

describe("parseInstruction", () => {
  test.each([
    ["Family name: up to 12 characters", 12],
    ["Max 3 initials: first, LAST, middle", 3],
    ["max. 3 letters", 3],
    ["Maximum of 10 characters", 10],
    ["No more than 15 letters", 15],
    ["12 characters max", 12],
    ["Block letters. Up to 20 characters, spaces included", 20],
    ["Year: 4 digits, e.g. 2026", 4],
    ["Established (optional): 4 digits", 4],
    ["Up to 20 characters, or up to 10 letters with a monogram", 20],
    ["At least 4 digits", undefined],
    ["Number: 4 digits or more", undefined],
    ["Between 3 and 12 characters", undefined],
    ["Up to 1,000 characters", undefined],
    ["Up to 3 lines", undefined],
    ["Up to 0 characters", undefined],
    ["3 characters", undefined],
    ["The last 4 digits", undefined],
  ])("reads %j with the limit %p", (text, limit) => {
    expect(parseInstruction(text, "optional").limit).toBe(limit);
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
