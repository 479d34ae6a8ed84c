import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { createFolder, finished, type Postgres, run, startPostgres } from "./postgres.ts";
import { until } from "./until.ts";

/** A hot standby, which replays the log of a primary. */
export interface Standby extends Postgres {
  /** Its `application_name` at the primary, for `synchronous_standby_names`. */
  readonly name: string;
  /** It goes on receiving, and shows the state of this moment. */
  pauseReplay(): Promise<void>;
  /** Waits until it shows what the primary has committed by now. */
  catchUp(): Promise<void>;
  /** Makes it a primary that accepts writes. */
  promote(): Promise<void>;
}

export interface StandbyOptions {
  /** Settings of the server, such as `max_standby_streaming_delay=0`. */
  readonly settings?: readonly string[];
  /** Where it finds the primary, such as a port that forwards; the primary's own URL by default. */
  readonly primaryUrl?: string;
}

/** Starts a standby from a copy of a running primary. Remove it before the primary. */
export async function createStandby(
  primary: Postgres,
  { settings = [], primaryUrl = primary.url }: StandbyOptions = {},
): Promise<Standby> {
  const name = `standby_${crypto.randomUUID().replaceAll("-", "")}`;
  const folder = await createFolder();
  const data = join(folder, "data");
  await copyData(primary, data, name);
  const { hostname, port, username } = new URL(primaryUrl);
  const source = `host=${hostname} port=${port} user=${username} application_name=${name}`;
  await appendFile(
    join(data, "postgresql.auto.conf"),
    // A standby that is started again asks for the primary soon.
    `primary_conninfo = '${source}'\nprimary_slot_name = '${name}'\nwal_retrieve_retry_interval = '100ms'\n`,
  );
  await writeFile(join(data, "standby.signal"), "");
  const server = await startPostgres(folder, settings);
  return {
    ...server,
    name,
    pauseReplay: async () => {
      await execute(server.url, "SELECT pg_wal_replay_pause()");
      await until("replay is paused", async () => {
        const [row] = await execute<{ state: string }>(server.url, "SELECT pg_get_wal_replay_pause_state() AS state");
        return row?.state === "paused";
      });
    },
    catchUp: async () => {
      const [written] = await execute<{ lsn: string }>(primary.url, "SELECT pg_current_wal_flush_lsn() AS lsn");
      await until("the standby has caught up", async () => {
        const query = `SELECT pg_last_wal_replay_lsn() >= '${written?.lsn}' AS "isCurrent"`;
        const [row] = await execute<{ isCurrent: boolean }>(server.url, query);
        return row?.isCurrent === true;
      });
    },
    promote: async () => void (await execute(server.url, "SELECT pg_promote()")),
    remove: async () => {
      await server.remove();
      // Without its standby, a slot would keep the log forever. The primary may be gone too.
      await execute(primary.url, `SELECT pg_drop_replication_slot('${name}')`).catch(() => {});
    },
  };
}

/** Repeats a write until the server, which is being promoted, accepts it. @returns its result */
export async function untilWritten<Result>(write: () => Promise<Result>): Promise<Result> {
  const results: Result[] = [];
  await until("the server accepts writes", () =>
    write().then(
      (result) => results.push(result) > 0,
      () => false,
    ),
  );
  return results[0] as Result;
}

/** Makes each commit at the primary wait until a standby has it on its disk. */
export async function commitSynchronously(primary: Postgres, standby: Standby): Promise<void> {
  await execute(primary.url, "ALTER SYSTEM SET synchronous_commit = 'on'");
  await execute(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '${standby.name}'`);
  await execute(primary.url, "SELECT pg_reload_conf()");
  await until("the standby is synchronous", async () => {
    const query = `SELECT sync_state FROM pg_stat_replication WHERE application_name = '${standby.name}'`;
    const [row] = await execute<{ sync_state: string }>(primary.url, query);
    return row?.sync_state === "sync";
  });
}

/** Copies the files of a running server, with a slot that keeps the log since then. */
async function copyData(primary: Postgres, data: string, slot: string): Promise<void> {
  await using sql = new SQL(primary.url, { max: 1 });
  await sql.unsafe(`SELECT pg_create_physical_replication_slot('${slot}', true)`);
  await sql.unsafe("SELECT pg_backup_start('standby', true)");
  await finished(run("cp", ["-a", primary.data, data]), "cp").catch((error: Error) => {
    // Tables and logs may be dropped meanwhile; the log that is replayed says so too.
    const problems = error.message.split("\n").slice(0, -1);
    if (!problems.every((line) => line.includes("No such file or directory"))) throw error;
  });
  const [backup] = await sql.unsafe<{ label: string }[]>("SELECT labelfile AS label FROM pg_backup_stop(false)");
  // Written by the user of the server, who owns the folder.
  const script = `cd "$1" && rm -rf postmaster.pid postmaster.opts pg_replslot/* && printf %s "$2" >backup_label`;
  await finished(run("sh", ["-c", script, "sh", data, `${backup?.label}`]), "sh");
}

async function execute<Row>(url: string, statement: string): Promise<Row[]> {
  await using sql = new SQL(url, { max: 1 });
  return await sql.unsafe<Row[]>(statement);
}
