/** The tables of a generation's rows, by list. */
export const tables = {
  pzlines: {
    table: "personalization_line",
    columns: ["sku_id", "style_code", "style_display_seq", "style_sku_status"],
    key: ["sku_id", "style_code"],
  },
  pzstyles: {
    table: "personalization_style",
    columns: ["style_code", "line_status", "line_display_seq", "choice_type", "instruct_text"],
    key: ["style_code", "line_display_seq"],
  },
  pzchoices: {
    table: "personalization_choice",
    columns: ["choice_type", "choice_status", "choice_display_seq", "choice_value"],
    key: ["choice_type", "choice_value"],
  },
} as const;

export type List = keyof typeof tables;
