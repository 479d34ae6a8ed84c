import type { Migration } from "../../engine.ts";

export const changeLog: Migration = {
  name: "2026-11-28-change-log",
  statements: [
    // Seldom, because other stores pay for each deletion until the transaction ends.
    "DROP TRIGGER change_inserted",
    `CREATE TRIGGER change_inserted AFTER INSERT ON change WHEN NEW.id % 1000 = 0 BEGIN
      DELETE FROM change WHERE id <= NEW.id - 100000;
    END`,
  ],
};
