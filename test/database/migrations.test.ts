import { describe, expect, test } from "bun:test";
import { engines as implementations } from "../../src/database/engines/index.ts";
import { connectTo, createMigratedStore, createStore, engines, migrateStore, pds } from "../support/pds.ts";

const names = [
  "2026-11-22-initial",
  "2026-11-23-jobs",
  "2026-11-23-product-truth",
  "2026-11-23-webhooks",
  "2026-11-24-operations",
  "2026-11-24-products",
  "2026-11-25-purge",
  "2026-11-26-handles",
  "2026-11-26-presentation",
  "2026-11-27-console",
  "2026-11-27-operators",
  "2026-11-28-change-log",
];

test("every engine has the same migrations in order of their dates", () => {
  for (const { migrations } of implementations) expect(migrations.map(({ name }) => name)).toEqual(names);
  expect(names.toSorted()).toEqual(names);
});

describe.each([...engines])("on %s, a store", (engine) => {
  const appliedIn = async (url: string) => {
    await using sql = await connectTo(url);
    const rows = await sql<{ name: string }[]>`SELECT name FROM schema_migration ORDER BY name`;
    return rows.map(({ name }) => name);
  };

  test("that is new gets every migration once", async () => {
    const url = await createStore(engine);
    for (let start = 0; start < 2; start++) {
      await migrateStore(url);
      expect(await appliedIn(url)).toEqual(names);
    }
  });

  test("of a newer version is used if that only added to it, and refused otherwise", async () => {
    const url = await createMigratedStore(engine);
    await using sql = await connectTo(url);
    await sql`INSERT INTO schema_migration (name) VALUES ('2999-01-01-later')`;
    expect(await pds(["history"], { DATABASE_URL: url })).toMatchObject({ code: 0 });
    await sql`INSERT INTO schema_minimum (migration, version) VALUES ('2999-01-01-later', '9.1.0')`;
    const { code, stderr } = await pds(["history"], { DATABASE_URL: url });
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /DATABASE_URL: .* it needs version 9\.1\.0 or newer because of the migration 2999-01-01-later; this/,
    );
  });

  test("of a version before the first release is refused with the commands that import its data again", async () => {
    const url = await createStore(engine);
    await using sql = await connectTo(url);
    // Those versions counted their migrations.
    await sql`CREATE TABLE migration (id INTEGER PRIMARY KEY)`;
    await sql`INSERT INTO migration (id) VALUES (1), (2), (3), (4), (5), (6), (7)`;
    const { code, stderr } = await pds(["history"], { DATABASE_URL: url });
    expect(code).toBe(1);
    expect(stderr).toMatch(/DATABASE_URL: .*cannot be upgraded; set DATABASE_URL to a new database/);
    for (const command of ["pds import products", "pds import personalization"]) expect(stderr).toContain(command);
    // Its data is untouched.
    expect(await sql`SELECT id FROM migration`).toHaveLength(7);
    expect(await appliedIn(url).catch(() => [])).toEqual([]);
  });
});
