import { describe, expect, test } from "bun:test";
import { countHiddenProducts, saveProducts, toStoredProduct } from "../../src/catalog/product.ts";
import { searchProducts } from "../../src/catalog/search.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { readNow, toProduct, toVariant } from "../support/catalog.ts";
import { createMigratedStore, engines } from "../support/pds.ts";

const count = 500;
/** Later products differ from the first ones in tags, vendor, and status: a search of the first ones misses them. */
const factsOf = (index: number) => ({
  title: index % 2 === 0 ? "Ivory cup" : "Ivory plate",
  status: (index < 300 ? "active" : "draft") as "active" | "draft",
  vendor: index < 400 ? "Maker" : "Other",
  tags: index < 250 || index % 3 === 0 ? "plain, new" : "late",
});
const index = Array.from({ length: count }, (_, each) => each);

describe.each([...engines])("on %s, a search", (engine) => {
  test("finds every product that meets all conditions, also if the first ones with the words do not", async () => {
    const database = await openDatabase(await createMigratedStore(engine), "background");
    const products = index.map((each) => {
      const id = 1000 + each;
      return toStoredProduct(toProduct(id, { ...factsOf(each), variants: [toVariant(id, { sku: `S${each}` })] }));
    });
    await saveProducts(database, products, readNow());
    const [limit, half] = [5, 1250n];
    for (const text of [undefined, "ivory", "cup iv", "s49"]) {
      for (const status of [undefined, "draft"]) {
        for (const vendor of [undefined, "Other"]) {
          for (const tag of [undefined, "late", "none"]) {
            for (const after of [undefined, half]) {
              const filter = { text, status, vendor, tag, after };
              const expected = index.filter((each) => {
                const facts = factsOf(each);
                const isNamed =
                  text === undefined ||
                  text === "ivory" ||
                  (text === "cup iv" && facts.title === "Ivory cup") ||
                  (text === "s49" && `${each}`.startsWith("49"));
                return (
                  isNamed &&
                  (status ?? facts.status) === facts.status &&
                  (vendor ?? facts.vendor) === facts.vendor &&
                  (tag === undefined || facts.tags.split(", ").includes(tag)) &&
                  (after === undefined || BigInt(1000 + each) > after)
                );
              });
              const found = await searchProducts(database, filter, limit);
              const ids = expected.slice(0, limit).map((each) => `${1000 + each}`);
              expect([filter, found.map(({ id }) => id)]).toEqual([filter, ids]);
            }
          }
        }
      }
    }
    expect(await countHiddenProducts(database)).toBe(200);
    await closeDatabase(database);
  });
});
