import { describe, expect, test } from "bun:test";
import { connectTo, createMigratedStore, createStore, engines, migrateStore, pds } from "../support/pds.ts";

describe.each([...engines])("on %s, a store", (engine) => {
  test("is created once, also by several processes at the same time", async () => {
    const url = await createStore(engine);
    await Promise.all([migrateStore(url), migrateStore(url), migrateStore(url)]);
    await migrateStore(url);
    await using sql = await connectTo(url);
    expect(await sql`SELECT version FROM generation_list`).toHaveLength(1);
    expect(await sql`SELECT fingerprint FROM schema_fingerprint`).toHaveLength(1);
  });

  test("of another version is refused with status 3, and stays as it is", async () => {
    const url = await createMigratedStore(engine);
    await using sql = await connectTo(url);
    await sql`UPDATE schema_fingerprint SET fingerprint = 'another'`;
    for (const args of [["history"], ["serve"], ["check"]]) {
      const { code, stdout, stderr } = await pds(args, { DATABASE_URL: url });
      expect([args, code]).toEqual([args, args[0] === "check" ? 1 : 3]);
      expect(stdout + stderr).toContain("another version of the program made its tables: start that version");
    }
    expect([...(await sql`SELECT fingerprint FROM schema_fingerprint`)]).toEqual([{ fingerprint: "another" }]);
    expect([...(await sql`SELECT id FROM run`)]).toEqual([]);
  });

  test("of an earlier state is refused with the commands that import its data again", async () => {
    const url = await createMigratedStore(engine);
    await using sql = await connectTo(url);
    await sql`DROP TABLE schema_fingerprint`;
    const { code, stderr } = await pds(["serve"], { DATABASE_URL: url });
    expect(code).toBe(3);
    for (const command of ["pds import products", "pds import personalization"]) expect(stderr).toContain(command);
    await expect(Promise.resolve(sql`SELECT 1 FROM schema_fingerprint`)).rejects.toThrow();
  });

  test("gives no id twice, so that rows of a killed import cannot join a later one", async () => {
    const url = await createMigratedStore(engine);
    await using sql = await connectTo(url);
    const add = async () => {
      const [row] = await sql<{ id: number }[]>`
        INSERT INTO generation (brand, loaded_at) VALUES ('acme', '') RETURNING id`;
      return row?.id ?? 0;
    };
    const first = await add();
    await sql`DELETE FROM generation`;
    expect(await add()).toBeGreaterThan(first);
  });
});
