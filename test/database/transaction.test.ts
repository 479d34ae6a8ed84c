import { describe, expect, test } from "bun:test";
import { findProduct, saveProducts, toStoredProduct } from "../../src/catalog/product.ts";
import { findCursor, saveCursor } from "../../src/database/cursor.ts";
import type { Database, Queryable, Transaction } from "../../src/database/database.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { readNow, toProduct } from "../support/catalog.ts";
import { createStore, engines } from "../support/pds.ts";

const id = 7n;
const product = toStoredProduct(toProduct(7, { title: "Plate" }));

type Accepts<Wanted, Given> = Given extends Wanted ? true : false;

/** An object whose statements and reads may use different connections. */
const mixedWith = ({ sql }: Transaction, database: Database) => ({ ...database, sql });

test("the types refuse a mix of two connections, and a database as a transaction or the reverse", () => {
  const mixed: Accepts<Queryable, ReturnType<typeof mixedWith>> = false;
  const unprotected: Accepts<Transaction, Database> = false;
  const nested: Accepts<Database, Transaction> = false;
  const both: [Accepts<Queryable, Database>, Accepts<Queryable, Transaction>] = [true, true];
  expect([mixed, unprotected, nested, ...both]).toEqual([false, false, false, true, true]);
});

describe.each([...engines])("on %s, a transaction", (engine) => {
  const open = async () => {
    const database = await openDatabase(await createStore(engine));
    return { database, [Symbol.asyncDispose]: () => closeDatabase(database) };
  };

  test("reads what it has written, which others do not see until it commits", async () => {
    await using opened = await open();
    const { database } = opened;
    await database.inTransaction(async (transaction) => {
      expect(await saveProducts(transaction, [product], readNow())).toBe(1);
      await saveCursor(transaction, "catalog-sync", "2026-01-01T00:00:00Z");
      // One query uses the prepared read, the other a template.
      const found = await findProduct(transaction, id);
      expect(new TextDecoder().decode(found?.document)).toBe(product.document);
      expect(await findCursor(transaction, "catalog-sync")).toBe("2026-01-01T00:00:00Z");
      expect(await findProduct(database, id)).toBeUndefined();
    });
    expect((await findProduct(database, id))?.tag).toBe(product.tag);
  });

  test("writes nothing when its work throws", async () => {
    await using opened = await open();
    const { database } = opened;
    const failing = database.inTransaction(async (transaction) => {
      await saveProducts(transaction, [product], readNow());
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await findProduct(database, id)).toBeUndefined();
  });
});
