import { lists } from "../model/personalization.ts";

/** The tables of a generation's rows, by list. */
export const tables = {
  pzlines: { table: "personalization_line", ...lists.pzlines },
  pzstyles: { table: "personalization_style", ...lists.pzstyles },
  pzchoices: { table: "personalization_choice", ...lists.pzchoices },
} as const;
