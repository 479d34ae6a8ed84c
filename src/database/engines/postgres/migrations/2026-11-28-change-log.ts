import type { Migration } from "../../engine.ts";

export const changeLog: Migration = {
  name: "2026-11-28-change-log",
  statements: [
    // Seldom, because a deletion reads again what its own transaction has deleted: an import of
    // 100,000 products took 15 minutes. Readers expect at least the 100,000 newest rows.
    "DROP TRIGGER change_inserted ON change",
    `CREATE TRIGGER change_inserted AFTER INSERT ON change FOR EACH ROW WHEN (NEW.id % 1000 = 0)
      EXECUTE FUNCTION remove_old_changes()`,
  ],
};
