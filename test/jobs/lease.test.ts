import { describe, expect, test } from "bun:test";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { claimRun } from "../../src/jobs/claim.ts";
import { keepLease } from "../../src/jobs/lease.ts";
import { finishRun, releaseRun } from "../../src/jobs/runs.ts";
import { connectTo, createMigratedStore, engines } from "../support/pds.ts";

const leaseSeconds = 0.3;

describe.each([...engines])("on %s, a run that got no processor time for longer than its lease", (engine) => {
  /** @returns whether the run gave up after the process could not run, or renewed its lease */
  async function starve(whileStarved: "renewed" | "abandoned") {
    const database = await openDatabase(await createMigratedStore(engine));
    const id = (await claimRun(database, { job: "history-retention", brand: "acme" }, 60)) ?? 0;
    const leaseUntil = async () => {
      const [run] = await database.sql<{ at: string }[]>`SELECT lease_until AS at FROM run WHERE id = ${id}`;
      return run?.at ?? "";
    };
    // As its supervisor, or another process, left the run in the store.
    if (whileStarved === "abandoned") await finishRun(database, id, { outcome: "abandoned", counts: 0 });
    const before = await leaseUntil();
    let hasExpired = false;
    const expire = () => {
      hasExpired = true;
    };
    using _ = keepLease(database, id, leaseSeconds, expire, () => {});
    // Nothing else of this process runs meanwhile.
    Bun.sleepSync(leaseSeconds * 2000);
    while (!hasExpired && (await leaseUntil()) === before) await Bun.sleep(1);
    await closeDatabase(database);
    return hasExpired ? "gave up" : "went on";
  }

  test.each([
    ["goes on when the lease is still its own", "renewed", "went on"],
    ["gives up when it was abandoned", "abandoned", "gave up"],
  ] as const)("%s", async (_, whileStarved, then) => expect(await starve(whileStarved)).toBe(then));
});

test("a run gives up at the end of its lease when the store does not respond", async () => {
  const database = await openDatabase(await createMigratedStore("sqlite"));
  await closeDatabase(database);
  const expired = Promise.withResolvers<void>();
  using _ = keepLease(database, 1, leaseSeconds, expired.resolve, () => {});
  await expired.promise;
});

test("a claim is released although another process writes at that moment", async () => {
  const url = await createMigratedStore("sqlite");
  const database = await openDatabase(url, "scheduling");
  const id = (await claimRun(database, { job: "history-retention", brand: "acme" }, 60)) ?? 0;
  await using other = await connectTo(url);
  let released: Promise<boolean> | undefined;
  await other.begin("IMMEDIATE", async () => {
    released = releaseRun(database, id);
    // A failure would show at once.
    await Bun.sleep(0);
  });
  expect(await released).toBe(true);
  await closeDatabase(database);
});
