import { expect, test } from "bun:test";
import { cleanUp } from "../support/clean-up.ts";
import { migrateStore, pds } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { createStandby } from "../support/standby.ts";

test("a setting that leads to a standby stops the start, and is named by a check", async () => {
  const primary = await createPostgres();
  cleanUp(() => primary.remove());
  await migrateStore(primary.url);
  const standby = await createStandby(primary);
  cleanUp(() => standby.remove());
  const environment = { DATABASE_URL: primary.url, DATABASE_DIRECT_URL: standby.url, PORT: "0", ADMIN_PORT: "0" };
  const refusal = "DATABASE_DIRECT_URL leads to a standby; it must lead to the primary";
  const { code, stderr } = await pds(["serve"], environment);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(refusal) });
  const { stdout } = await pds(["check", "--json"], environment);
  const { checks } = JSON.parse(stdout) as { checks: { checked: string; problem: string | null }[] };
  expect(checks).toContainEqual(expect.objectContaining({ checked: "store, without the pooler", problem: refusal }));
  const swapped = { DATABASE_URL: standby.url, DATABASE_DIRECT_URL: primary.url };
  expect((await pds(["check"], swapped)).stdout).toContain("DATABASE_URL leads to a standby");
});
