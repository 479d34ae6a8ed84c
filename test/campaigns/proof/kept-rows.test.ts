import { expect, test } from "bun:test";
import { findLostRows, noteKeptRows, readKeptRows } from "../../proof/kept-rows.ts";
import { connectTo, createMigratedStore } from "../../support/pds.ts";

test("rows that a restored store lacks are found in every table", async () => {
  const url = await createMigratedStore("postgres");
  await using sql = await connectTo(url);
  await sql`INSERT INTO product (id, document, tag) VALUES (1, '{}', 'a'), (2, '{}', 'b'), (3, '{}', 'c')`;
  await sql`INSERT INTO run (job, brand, started_at, finished_at) VALUES ('a', 'b', 'c', 'd'), ('e', 'f', 'g', NULL)`;
  await sql`INSERT INTO generation (brand, loaded_at, state) VALUES ('a', '', 'complete'), ('a', '', 'loading')`;
  for (const table of ["generation_1_sku", "generation_2_sku"]) {
    await sql.unsafe(`CREATE TABLE ${table} AS SELECT 'SKU' AS sku`);
  }
  const expected = await noteKeptRows(url, async () => {
    // A change meanwhile: the backup may have either version.
    await sql`UPDATE product SET tag = 'new' WHERE id = 2`;
  });
  const found = await readKeptRows(url);
  // The markers are gone again.
  expect(findLostRows(expected, found).toSorted()).toEqual(
    ["audit_record", "job_pause", "presentation", "product_news", "product_removal", "push_queue"].map(
      (table) => `a restored store lacks 1 of 1 rows of ${table}`,
    ),
  );
  await sql`UPDATE product SET document = '{"id":3}' WHERE id = 3`;
  await sql`DELETE FROM run`;
  await sql`DROP TABLE generation_1_sku, generation_2_sku`;
  const lost = findLostRows(expected, await readKeptRows(url));
  expect(lost).toContain("a restored store lacks 1 of 2 rows of product");
  expect(lost).toContain("a restored store lacks 1 of 1 rows of run");
  expect(lost).toContain("a restored store lacks 1 of 1 rows of generation_1_sku");
  expect(lost.filter((sentence) => sentence.includes("generation_2"))).toEqual([]);
});
