import { expect, test } from "bun:test";
import { lists } from "../../src/model/personalization.ts";
import { choiceSchema, lineSchema, styleSchema } from "../../src/model/schemas/personalization.ts";

test.each([
  ["pzlines", lineSchema],
  ["pzstyles", styleSchema],
  ["pzchoices", choiceSchema],
] as const)("the columns of %s are the fields of its rows in responses", (list, { shape }) => {
  expect(lists[list].columns.toSorted()).toEqual(Object.keys(shape).toSorted());
});
