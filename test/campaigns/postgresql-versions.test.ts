import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { isCampaign, root } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";

// The tests run on the PostgreSQL from npm, which is the newest. Debian has an older one.

const folder = "/usr/lib/postgresql";
const versions = existsSync(folder) ? readdirSync(folder).toSorted() : [];
if (versions.length === 0) process.stderr.write("skipped: no PostgreSQL of Debian is installed\n");

const suites = [
  "test/database/role.test.ts",
  ...(isCampaign
    ? [
        "test/catalog/import.test.ts",
        "test/jobs/operations.test.ts",
        "test/personalization/import.test.ts",
        "test/personalization/rollback.test.ts",
      ]
    : []),
];

describe.each(versions)("PostgreSQL %s", (version) => {
  test("does what the newest does", async () => {
    process.env.TEST_POSTGRES_PROGRAMS = join(folder, version, "bin");
    const server = await createPostgres().finally(() => delete process.env.TEST_POSTGRES_PROGRAMS);
    try {
      await using sql = new SQL(server.url, { max: 1 });
      const [{ server_version }] = await sql`SHOW server_version`;
      expect(server_version).toStartWith(`${version}.`);
      const tests = Bun.spawn(
        [process.execPath, "test", "--timeout=300000", ...suites.map((suite) => join(root, suite))],
        { cwd: root, env: { ...process.env, TEST_POSTGRES_URL: server.url }, stdio: ["ignore", "pipe", "pipe"] },
      );
      const [output, code] = await Promise.all([tests.stderr.text(), tests.exited]);
      expect({ code, failed: output.split("\n").filter((line) => line.startsWith("(fail)")) }).toEqual({
        code: 0,
        failed: [],
      });
      expect(output).toMatch(/^ +[1-9]\d* pass$/m);
    } finally {
      await server.remove();
    }
  });
});
