import { choiceSchema, lineSchema, type Personalization, styleSchema } from "../../src/personalization.ts";
import { toCsv } from "./csv.ts";

export const columns = {
  pzlines: Object.keys(lineSchema.shape),
  pzstyles: Object.keys(styleSchema.shape),
  pzchoices: Object.keys(choiceSchema.shape),
};

/** File name → text: the feed that brings these rows, in this order. */
export const toFeed = ({ pzlines, pzstyles, pzchoices }: Personalization) => ({
  "pzlines.csv": toCsv(columns.pzlines, pzlines),
  "pzstyles.csv": toCsv(columns.pzstyles, pzstyles),
  "pzchoices.csv": toCsv(columns.pzchoices, pzchoices),
});
