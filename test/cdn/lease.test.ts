import { expect, test } from "bun:test";
import { findPurgePosition, purgeLease, savePurgeState } from "../../src/cdn/position.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import type { Lease } from "../../src/database/lease.ts";
import { connectTo, createMigratedStore, enginesOf } from "../support/pds.ts";
import { until } from "../support/until.ts";
import { idleState } from "./world.ts";

/** Longer than a process takes the right if the store answers at once, and no longer than any takes it. */
const longerS = 4;

test.each([...enginesOf("postgres")])(
  "on %s, a process that was held up while another purged does not set it back",
  async (engine) => {
    const url = await createMigratedStore(engine);
    const database = await openDatabase(url);
    await using sql = await connectTo(url);
    const [heldUp, other] = [purgeLease(database, "edge", "one"), purgeLease(database, "edge", "two")];
    const endsIn = (seconds: number) =>
      sql`UPDATE lease SET ends_at = ${new Date(Date.now() + seconds * 1000).toISOString()} WHERE name = 'purge edge'`;
    const endLease = () => sql`UPDATE lease SET ends_at = '2020-01-01T00:00:00.000Z' WHERE name = 'purge edge'`;
    const save = (lease: Lease, first: number) =>
      database.inTransaction((transaction) =>
        savePurgeState(transaction, "edge", { from: idleState, to: { ...idleState, first } }, lease),
      );
    expect(await heldUp.hold()).toBe(true);
    // While the store is slow, a process takes the right for longer than another would.
    await until("another process tries to take the right while it lasts", async () => {
      const triedMs = Date.now();
      await endsIn(longerS);
      const hasTaken = await purgeLease(database, "edge", "two").hold();
      // On a busy machine, it may have ended meanwhile.
      if (hasTaken) expect(Date.now()).toBeGreaterThan(triedMs + longerS * 1000);
      await sql`UPDATE lease SET holder = 'one' WHERE name = 'purge edge'`;
      return !hasTaken;
    });
    await endLease();
    const isSaved = await database.inTransaction((transaction) =>
      savePurgeState(transaction, "edge", { from: undefined, to: idleState }, heldUp),
    );
    expect(isSaved).toBe(true);
    await endLease();
    expect([await other.hold(), await save(other, 9)]).toEqual([true, true]);
    await endLease();
    expect(await save(heldUp, 3)).toBe(false);
    await other.release();
    expect(await save(heldUp, 3)).toBe(false);
    expect((await findPurgePosition(database, "edge")).state?.first).toBe(9);
    // An operator wants everything purged.
    await sql`DELETE FROM purge_target WHERE name = 'edge'`;
    expect([await heldUp.hold(), await save(heldUp, 10)]).toEqual([true, false]);
    expect((await findPurgePosition(database, "edge")).state).toBe(undefined);
    await heldUp.release();
    expect(await heldUp.hold()).toBe(true);
    // It was taken before the clock was set back.
    await endsIn(3600);
    expect(await other.hold()).toBe(true);
    await other.release();
    await closeDatabase(database);
  },
);
