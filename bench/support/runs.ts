import { SQL } from "bun";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";

/**
 * Fills a store with runs of four jobs, one per minute, most of them successful.
 * @param brands number of brands
 */
export async function writeRuns(url: string, count: number, brands = 1): Promise<void> {
  await closeDatabase(await openDatabase(url));
  await using sql = new SQL(url, { max: 1 });
  const isEmbedded = url.startsWith("sqlite:");
  const instant = (offset: number) =>
    isEmbedded
      ? `strftime('%Y-%m-%dT%H:%M:%fZ', 1735000000 + n * 60 + ${offset}, 'unixepoch')`
      : `to_char(to_timestamp(1735000000 + n * 60 + ${offset}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  await sql.unsafe(`
    INSERT INTO run (job, brand, scheduled_at, started_at, finished_at, lease_until, outcome, counts, reason)
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${count})
    SELECT 'job-' || (n % 4), 'brand-' || (n % ${brands}), ${instant(0)}, ${instant(0)}, ${instant(20)}, ${instant(50)},
      CASE WHEN n % 5000 = 0 THEN 'abandoned' WHEN n % 10 = 0 THEN 'failed' ELSE 'succeeded' END, n % 1000,
      CASE WHEN n % 10 = 0 THEN 'the reason' END
    FROM numbers`);
  await sql.unsafe("ANALYZE run");
}
