import { expect, test } from "bun:test";
import { choiceSchema, lineSchema, styleSchema } from "../../src/contract/personalization.ts";
import { lists } from "../../src/personalization/lists.ts";

test.each([
  ["pzlines", lineSchema],
  ["pzstyles", styleSchema],
  ["pzchoices", choiceSchema],
] as const)("the columns of %s are the fields of its rows in responses", (list, { shape }) => {
  expect(lists[list].columns.toSorted()).toEqual(Object.keys(shape).toSorted());
});
