import type { Personalization } from "../../src/personalization.ts";
import type { BrokenCase } from "./broken-case.ts";
import { toCsv } from "./csv.ts";
import { columns, toFeed } from "./feed.ts";

/** The line, counted from 1, of the second row. */
const faultyLine = 3;

export function toBrokenFeeds(personalization: Personalization): BrokenCase[] {
  const small = cut(personalization);
  const feed = toFeed(small);
  const { "pzchoices.csv": _, ...withoutChoices } = feed;
  const shortened = feed["pzlines.csv"]
    .split("\n")
    .map((row, index) => (index === faultyLine - 1 ? row.split(",").slice(0, 2).join(",") : row))
    .join("\n");
  const nameless = small.pzlines.map((row, index) => (index === faultyLine - 2 ? { ...row, sku_id: "" } : row));
  const narrow = toCsv(
    columns.pzstyles.filter((column) => column !== "choice_type"),
    small.pzstyles,
  );
  return [
    {
      files: within("short-row", { ...feed, "pzlines.csv": shortened }),
      file: "short-row/pzlines.csv",
      line: faultyLine,
      field: "style_display_seq",
      reason: "The row has two fields of four; this is the third.",
    },
    {
      files: within("missing-column", { ...feed, "pzstyles.csv": narrow }),
      file: "missing-column/pzstyles.csv",
      line: 1,
      field: "choice_type",
      reason: "The header and every row lack the column.",
    },
    {
      files: within("missing-file", withoutChoices),
      file: "missing-file/pzchoices.csv",
      line: undefined,
      field: undefined,
      reason: "The folder has no such file.",
    },
    {
      files: within("empty-sku", { ...feed, "pzlines.csv": toCsv(columns.pzlines, nameless) }),
      file: "empty-sku/pzlines.csv",
      line: faultyLine,
      field: "sku_id",
      reason: "The SKU is empty.",
    },
  ];
}

const within = (folder: string, files: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));

/** Two SKUs, their styles, and the first choices of every group that these name. */
function cut({ pzlines, pzstyles, pzchoices }: Personalization): Personalization {
  const skus = new Set(pzlines.map(({ sku_id }) => sku_id).slice(0, 8));
  const [first, second] = skus;
  const lines = pzlines.filter(({ sku_id }) => sku_id === first || sku_id === second);
  const styles = pzstyles.filter(({ style_code }) => lines.some((line) => line.style_code === style_code));
  const choiceTypes = new Set(styles.map(({ choice_type }) => choice_type));
  return {
    pzlines: lines,
    pzstyles: styles,
    pzchoices: [...choiceTypes].flatMap((type) =>
      pzchoices.filter(({ choice_type }) => choice_type === type).slice(0, 3),
    ),
  };
}
