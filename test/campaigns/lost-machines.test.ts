import { describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { writeFeed } from "../support/feed.ts";
import { isCampaign, migrateStore, pds, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { childrenOf, spawnService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// A replica is lost in the transaction that makes its import current. The server keeps the
// transaction's locks, because it notices nothing. Another replica must import all the same.

/** Long enough in CI that a busy machine is not lost before its time. */
const leaseSeconds = isCampaign ? 3 : 10;
/** A busy machine may take longer, but never as long as the server waits by itself. */
const patienceMs = (leaseSeconds + 5) * 1000 * (isCampaign ? 1 : 6);

const folder = await temporaryFolder();
const feed = await writeFeed(folder, "feed");
const [config = ""] = await writeFiles(folder, {
  "pds.toml": `
    lease_seconds = ${leaseSeconds}
    [jobs.personalization-import]
    brand = "acme"
    source = "${feed}"
    settle_seconds = 0`,
});

describe("the imports after a machine was lost in a transaction", () => {
  test.concurrent.each(["frozen", "cut off", "killed"] as const)(
    "start soon, for its brand and for others, when it was %s",
    async (how) => {
      const { url, drop } = await createPostgresDatabase();
      const proxy = await startProxy(url);
      const sql = new SQL(url, { max: 1 });
      await migrateStore(url);
      const outcomes = async () => {
        const runs = await sql<{ outcome: string | null }[]>`SELECT outcome FROM run WHERE brand = 'acme' ORDER BY id`;
        return runs.map(({ outcome }) => outcome);
      };
      await using lost = spawnService([], { DATABASE_URL: proxy.url, PDS_CONFIG: config });
      const signal = (name: NodeJS.Signals) => {
        for (const pid of [lost.pid, ...childrenOf(lost.pid)]) process.kill(pid, name);
      };

      // Its transaction waits for the lock of changes until the machine is lost, and then holds it.
      const holder = await sql.reserve();
      await holder`BEGIN`;
      await holder`SELECT pg_advisory_xact_lock(7365747303)`;
      const waits = async () =>
        (
          await holder`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
        ).length > 0;
      await until("its transaction waits", waits);
      if (how === "frozen") signal("SIGSTOP");
      else proxy.cut();
      if (how === "killed") signal("SIGKILL");
      await holder`COMMIT`;
      holder.release();
      expect(await outcomes()).toEqual([null]);

      await using other = spawnService([], { DATABASE_URL: url, PDS_CONFIG: config });
      const foreign = pds(["import", "personalization", feed, "--brand", "other"], { DATABASE_URL: url });
      await until("the next import begins", async () => (await outcomes()).length === 2, patienceMs);
      await until("it succeeds", async () => (await outcomes())[1] === "succeeded", patienceMs);
      expect(await outcomes()).toEqual(["abandoned", "succeeded"]);
      expect(await foreign).toMatchObject({ code: 0 });

      // The lost replica comes back, and does no harm.
      if (how === "frozen") signal("SIGCONT");
      proxy.heal();
      if (how !== "killed") {
        await until("it has ended its run", () => childrenOf(lost.pid).length === 0);
        await until("it listens", () => lost.printed().includes("Public"));
        const address = lost.printed().match(/^Public\s+(\S+)$/m)?.[1];
        const reads = async () => (await (await fetch(`${address}/products/pz/MUG`)).text()).includes("SCRIPT");
        await until("it reads the store again", reads);
        expect(await outcomes()).toEqual(["abandoned", "succeeded"]);
      }
      await sql.close();
      await Promise.all([lost.end("SIGKILL"), other.end("SIGKILL")]);
      await drop();
    },
  );
});
