import { expect, test } from "bun:test";
import { createLog } from "../../src/base/log.ts";
import { recordPersonalizationChange } from "../../src/database/change.ts";
import { ChangeLog, classify, type LogState, type Position } from "../../src/database/change-log.ts";
import { Database } from "../../src/database/database.ts";
import type { Read } from "../../src/database/engines/engine.ts";
import { engineOf } from "../../src/database/engines/index.ts";
import { createLimiters } from "../../src/service/limiters.ts";
import { createMigratedStore } from "../support/pds.ts";
import { until } from "../support/until.ts";

const kept = 100;
/** A time, by the digit of its minute. */
const at = (minute: number) => `2026-11-22T00:0${minute}:00.000Z`;
const history = "00000001";
const start: Position = { number: 0, history };
const before: Position = { number: 7, history, recordedAt: at(1) };
/** A position that is stored beside the log. */
const stored: Position = { number: 7, history };
/** A log with the change of {@link before}. */
const log = (number: number, changes: Partial<LogState> = {}): LogState => ({
  number,
  history,
  recordedAt: number === 7 ? at(1) : at(2),
  earlierAt: at(1),
  ...changes,
});
const elsewhere = { history: "00000002" };

test.each<[title: string, before: Position, now: LogState, kind: ReturnType<typeof classify>]>([
  ["nothing has ever changed", start, { number: 0, history }, "none"],
  ["nothing has changed since", before, log(7), "none"],
  ["nothing has changed since a stored position", stored, { number: 7, history }, "none"],

  ["the first change was made", start, { number: 1, history, recordedAt: at(1) }, "advanced"],
  ["a change was made", before, log(8), "advanced"],
  ["a change was made since a stored position", stored, { number: 8, history }, "advanced"],
  ["as many changes were made as the log still has", before, log(7 + kept - 1), "advanced"],
  ["so many changes were made since the start", start, { number: kept - 1, history, recordedAt: at(2) }, "advanced"],
  ["so many changes were made since a stored position", stored, { number: 7 + kept - 1, history }, "advanced"],

  ["one more was made, so the first may be deleted", before, log(7 + kept), "skipped"],
  ["the change before was deleted with others", before, log(7 + kept, { earlierAt: undefined }), "skipped"],
  ["too many were made since the start", start, { number: kept, history, recordedAt: at(2) }, "skipped"],
  ["too many were made since a stored position", stored, { number: 7 + kept, history }, "skipped"],
  ["the log was cut while a replica was away for long", before, log(90_000, { earlierAt: undefined }), "skipped"],

  ["a standby was promoted that has every change", before, log(7, elsewhere), "skipped"],
  ["a standby was promoted, and a change was made", before, log(8, elsewhere), "skipped"],
  ["a standby was promoted that lacks changes", before, log(5, { ...elsewhere, earlierAt: undefined }), "skipped"],
  ["its lost numbers were used again", before, log(8, { ...elsewhere, earlierAt: at(2) }), "skipped"],
  ["a standby was promoted before the first change", start, { number: 0, ...elsewhere }, "skipped"],
  ["a standby was promoted since a stored position", stored, { number: 7, ...elsewhere }, "skipped"],

  ["a backup was restored", before, log(6, { earlierAt: undefined }), "replaced"],
  ["a backup from before the first change was restored", before, { number: 0, history }, "replaced"],
  ["a backup was restored, and its numbers were used again", before, log(7, { earlierAt: at(2) }), "replaced"],
  ["a backup was restored, and more changes were made than lost", before, log(8, { earlierAt: at(2) }), "replaced"],
  ["the change is missing in another store with more", before, log(8, { earlierAt: undefined }), "replaced"],
  ["only the log of a stored position went back", stored, { number: 6, history }, "replaced"],
])("%s", (_, from, now, kind) => {
  expect(classify(from, now, kept)).toBe(kind);
});

test("a store that answers again takes reads before its changes empty the cache, also if only a late poll hears of it", async () => {
  const url = await createMigratedStore("sqlite");
  const engine = engineOf(url);
  const connections = await engine.open(url, "serving", {});
  let answers = Promise.resolve();
  const read: Read = (...query) => answers.then(() => connections.read(...query));
  const database = new Database(engine, url, { ...connections, read });
  await database.inTransaction((transaction) => recordPersonalizationChange(transaction, [1]));
  const storeLimiter = createLimiters(1).store;
  const polling = new AbortController();
  const changeLog = new ChangeLog();
  let wasOpen: boolean | undefined;
  const { stopped } = await changeLog.start(
    {
      database,
      storeLimiter,
      log: await createLog("silent"),
      onEvent: async () => {
        wasOpen ??= await storeLimiter.run(async () => true).catch(() => false);
      },
      onLost: () => {},
    },
    polling.signal,
  );
  const silence = Promise.withResolvers<void>();
  answers = silence.promise;
  await until("the store counts as unreachable", () => changeLog.isStoreUnreachable);
  // As after a failover that lost changes.
  await database.sql`DELETE FROM change`;
  silence.resolve();
  await until("the log is read", () => wasOpen !== undefined);
  expect(wasOpen).toBe(true);
  polling.abort();
  await stopped;
  await database.close(0);
}, 30_000);
