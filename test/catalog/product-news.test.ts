import { describe, expect, test } from "bun:test";
import { noteDelivery, noteUpdates } from "../../src/catalog/product.ts";
import type { Database } from "../../src/database/database.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { createStore, engines } from "../support/pds.ts";

type Row = { readonly id: string; readonly updatedAt: string; readonly isDelivered: boolean };

async function listNews({ sql }: Database): Promise<Row[]> {
  const rows = await sql<{ id: string; updatedAt: string; settlesAt: string; notedAt: string }[]>`
    SELECT CAST(id AS TEXT) AS id, updated_at AS "updatedAt", settles_at AS "settlesAt", noted_at AS "notedAt"
    FROM product_news ORDER BY product_news.id`;
  return rows.map(({ id, updatedAt, settlesAt, notedAt }) => ({ id, updatedAt, isDelivered: settlesAt > notedAt }));
}

describe.each([...engines])("on %s, news of a product", (engine) => {
  test("keeps the newest time of its last change, in whatever order deliveries and lists come", async () => {
    const database = await openDatabase(await createStore(engine));
    await noteUpdates(database, [{ id: 9_007_199_254_740_993n, updatedAt: "2026-11-22T10:00:05Z" }]);
    await noteDelivery(database, [
      { id: 2n, updatedAt: "2026-11-22T10:00:02Z" },
      { id: 2n, updatedAt: "2026-11-22T10:00:01Z" },
      { id: 1n },
    ]);
    await noteDelivery(database, [{ id: 2n, updatedAt: "2026-11-22T10:00:00Z" }]);
    await noteUpdates(database, [
      { id: 1n, updatedAt: "2026-11-22T10:00:03Z" },
      { id: 2n, updatedAt: "2026-11-22T10:00:01Z" },
    ]);
    await noteUpdates(database, []);
    expect(await listNews(database)).toEqual([
      { id: "1", updatedAt: "2026-11-22T10:00:03Z", isDelivered: true },
      { id: "2", updatedAt: "2026-11-22T10:00:02Z", isDelivered: true },
      { id: "9007199254740993", updatedAt: "2026-11-22T10:00:05Z", isDelivered: false },
    ]);
    await closeDatabase(database);
  });
});
