import { describe, expect, test } from "bun:test";
import { feedFiles, toListFile, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createStore,
  enginesOf,
  pds,
  serveWithAndWithoutCache,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";

const folder = await temporaryFolder();
const [PDS_CONFIG = ""] = await writeFiles(folder, {
  "pds.toml": '[jobs.personalization-import]\nsource = "."\nkeep_generations = 5\n',
});

for (const engine of enginesOf("postgres")) {
  describe(`on ${engine}, pds rollback personalization --to`, async () => {
    const url = await createStore(engine);
    const environment = { DATABASE_URL: url, BRAND: "acme", PDS_CONFIG };
    const { text } = await serveWithAndWithoutCache(environment);
    const query = async (statement: string) => {
      await using store = await connectTo(url);
      return await store.unsafe(statement);
    };

    let brands = 0;
    /** Creates a brand with some generations. @returns their ids, oldest first, and its commands */
    const brandWith = async (count: number) => {
      const brand = `brand-${brands++}`;
      const sku = `${brand}-MUG`;
      for (let number = 1; number <= count; number++) {
        const pzlines = toListFile("pzlines", [`${sku},NOTE,1,${number}`]);
        const feed = await writeFeed(folder, `${brand}-${number}`, { ...feedFiles, "pzlines.csv": pzlines });
        const args = ["import", "personalization", feed, "--brand", brand];
        expect(await importHere(args, environment)).toMatchObject({ code: 0 });
      }
      const rows = await query(`SELECT id FROM generation WHERE brand = '${brand}' ORDER BY id`);
      return {
        brand,
        ids: rows.map(({ id }: { id: number }) => id) as number[],
        rollback: (...options: string[]) =>
          pds(["rollback", "personalization", "--brand", brand, ...options], environment),
        /** The number of the served feed. */
        served: async () => Number((await text(`/api/v1/products/pz/${sku}`)).match(/"style_sku_status":"(\d)"/)?.[1]),
      };
    };

    test("makes an earlier or a later generation current, and caches follow", async () => {
      const { brand, ids, rollback, served } = await brandWith(4);
      expect(await served()).toBe(4);
      for (const number of [1, 3, 2, 4]) {
        const before = await served();
        expect(await rollback("--to", `${ids[number - 1]}`)).toEqual({
          code: 0,
          stdout: "",
          stderr: `made generation ${ids[number - 1]} of ${brand} current instead of ${ids[before - 1]}\n`,
        });
        expect(await served()).toBe(number);
      }
    });

    test("is undone by a rollback, and more rollbacks reach each other generation once", async () => {
      const { ids, rollback, served } = await brandWith(4);
      expect((await rollback("--to", `${ids[1]}`)).code).toBe(0);
      const seen = [await served()];
      while ((await rollback()).code === 0 && seen.length < 9) seen.push(await served());
      expect(seen).toEqual([2, 4, 3, 1]);
      expect((await rollback("--to", `${ids[3]}`)).code).toBe(0);
      expect([await served(), (await rollback()).code, await served()]).toEqual([4, 0, 1]);
    });

    test("decides what the next import keeps", async () => {
      const { brand, ids, rollback, served } = await brandWith(4);
      expect((await rollback("--to", `${ids[0]}`)).code).toBe(0);
      const [PDS_CONFIG = ""] = await writeFiles(folder, {
        "three.toml": '[jobs.personalization-import]\nsource = "."\nkeep_generations = 3\n',
      });
      const args = ["import", "personalization", `${folder}/${brand}-2`, "--brand", brand];
      expect((await pds(args, { ...environment, PDS_CONFIG })).code).toBe(0);
      const kept = await query(`SELECT id FROM generation WHERE brand = '${brand}' ORDER BY id`);
      expect(kept.map(({ id }: { id: number }) => id)).toEqual([ids[0], ids[3], expect.any(Number)]);
      const seen = [await served()];
      while ((await rollback()).code === 0 && seen.length < 9) seen.push(await served());
      expect(seen).toEqual([2, 1, 4]);
    });

    test("records exactly what changed, for the caches", async () => {
      const { ids, rollback } = await brandWith(2);
      expect((await rollback("--to", `${ids[0]}`)).code).toBe(0);
      const [change] = await query("SELECT noun, scope FROM change ORDER BY id DESC LIMIT 1");
      expect(change).toEqual({ noun: "personalization", scope: expect.any(String) });
      // One SKU: its fingerprint is one number of eight bytes.
      expect(Buffer.from(change.scope, "base64")).toHaveLength(8);
    });

    test("changes nothing if the generation is current already", async () => {
      const { brand, ids, rollback, served } = await brandWith(2);
      const changes = async () => await query("SELECT max(id) AS last FROM change");
      const before = await changes();
      expect(await rollback("--to", `${ids[1]}`)).toEqual({
        code: 0,
        stdout: "",
        stderr: `generation ${ids[1]} of ${brand} is already current\n`,
      });
      expect(await changes()).toEqual(before);
      expect([(await rollback()).code, await served()]).toEqual([0, 1]);
    });

    test("with --json, prints the generations, as a rollback without --to does", async () => {
      const { brand, ids, rollback } = await brandWith(2);
      const [first, second] = ids;
      const jsonOf = async (...options: string[]) => {
        const { code, stdout, stderr } = await rollback("--json", ...options);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        return JSON.parse(stdout);
      };
      expect(await jsonOf()).toEqual({ brand, generation: first, before: second });
      expect(await jsonOf("--to", `${second}`)).toEqual({ brand, generation: second, before: first });
      expect(await jsonOf("--to", `${second}`)).toEqual({ brand, generation: second, before: second });
    });

    test("refuses a generation that cannot be current, and lists the stored ones", async () => {
      const { brand, ids, rollback, served } = await brandWith(2);
      const other = await brandWith(1);
      const [loading, removed] = await Promise.all(
        ["loading", "removed"].map(async (state) => {
          const row = `'${brand}', '2026-01-01T00:00:00.000Z', '${state}'`;
          const [found] = await query(`INSERT INTO generation (brand, loaded_at, state) VALUES (${row}) RETURNING id`);
          return found.id as number;
        }),
      );
      const current = () => query("SELECT * FROM current_generation ORDER BY brand");
      const before = await current();
      const loaded = await query(`SELECT loaded_at AS at FROM generation WHERE brand = '${brand}' ORDER BY id`);
      const stored =
        `stored generations of ${brand}: ${ids[1]} (loaded ${loaded[1].at}, current), ` +
        `${ids[0]} (loaded ${loaded[0].at})`;
      for (const [id, problem] of [
        [2_000_000_000, "is not stored"],
        [loading, "is not complete"],
        [removed, "is not stored"],
        [other.ids[0], `is of ${other.brand}, not of ${brand}`],
      ]) {
        expect(await rollback("--to", `${id}`)).toEqual({
          code: 1,
          stdout: "",
          stderr: `pds: generation ${id} ${problem}; ${stored}\n`,
        });
      }
      expect(await current()).toEqual(before);
      expect(await served()).toBe(2);
      expect(await pds(["rollback", "personalization", "--brand", "nobody", "--to", `${ids[0]}`], environment)).toEqual(
        {
          code: 1,
          stdout: "",
          stderr: expect.stringMatching(/^pds: no personalization of "nobody" is stored; stored brands: ".+".*\n$/),
        },
      );
    });

    test.each(["", "0", "-1", "1.5", "2147483648", "1e3", "one"])("%p is wrong usage", async (to) => {
      expect(await pds(["rollback", "personalization", "--to", to], environment)).toEqual({
        code: 2,
        stdout: "",
        stderr: `pds: --to: expected the number of a generation, got ${JSON.stringify(to)}\n`,
      });
    });
  });
}
