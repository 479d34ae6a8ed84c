import { findLastChange } from "./change.ts";
import type { Database, Queryable } from "./database.ts";

/** The report of a process about itself. */
export interface ReplicaState {
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** How many workers serve, and how many should; undefined for a process that serves by itself. */
  readonly workers: { readonly serving: number; readonly wanted: number } | undefined;
  /** Work that it takes over when no other process does it. */
  readonly duties: readonly ("schedules" | "deliveries" | "purging")[];
  /** Why it starts no further runs; undefined if it does. */
  readonly suspension: string | undefined;
  /** Ids of the runs that it supervises. */
  readonly runs: readonly number[];
  /** Number of the last change that all of its caches have noticed. */
  readonly lastChange: number;
  /** The last time that the store could not be reached, in seconds before now. */
  readonly outage: { readonly beganAgoS: number; readonly endedAgoS: number } | undefined;
}

/** A process that serves from this store, or did until lately. */
export interface Replica extends ReplicaState {
  readonly id: string;
  /** When it started, and when it last said something: ISO 8601 in UTC, by the database's clock. */
  readonly startedAt: string;
  readonly seenAt: string;
  /** How many changes it had not noticed then. */
  readonly behind: number;
  /** The work that no other process does meanwhile. */
  readonly leases: readonly string[];
}

/** A process that was killed is shown this long. */
const keptS = 3600;
/** More could only come from processes that are killed all the time. */
const maxReplicas = 100;

/**
 * Saves what a process says of itself, and removes what others said long ago.
 * @param uptimeS how long ago it started
 */
export async function saveReplica(database: Database, id: string, state: ReplicaState, uptimeS: number): Promise<void> {
  const behind = Math.max(0, (await findLastChange(database)) - state.lastChange);
  const saved = JSON.stringify({ ...state, behind });
  await database.inTransaction(async ({ sql, engine }) => {
    await sql`
      INSERT INTO replica (id, started_at, seen_at, state)
      VALUES (${id}, ${sql.unsafe(engine.later(-uptimeS))}, ${sql.unsafe(engine.now)}, ${saved})
      ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, state = excluded.state`;
    // A live process that wrote before the clock was set back writes again soon.
    await sql`
      DELETE FROM replica
      WHERE seen_at < ${sql.unsafe(engine.later(-keptS))} OR seen_at > ${sql.unsafe(engine.later(keptS))}`;
  });
}

/** Removes a process that ends. */
export async function removeReplica(database: Database, id: string): Promise<void> {
  await database.inTransaction(({ sql }) => sql`DELETE FROM replica WHERE id = ${id}`);
}

/** Those that were seen last come first. */
export async function listReplicas({ read, engine }: Queryable): Promise<Replica[]> {
  type Row = Pick<Replica, "id" | "startedAt" | "seenAt"> & { readonly state: string };
  const [rows, leases] = await Promise.all([
    read<Row>(
      `SELECT id, started_at AS "startedAt", seen_at AS "seenAt", state FROM replica
      ORDER BY seen_at DESC, id LIMIT ${maxReplicas}`,
      [],
    ),
    read<{ name: string; holder: string }>(
      `SELECT name, holder FROM lease WHERE ends_at >= ${engine.now} ORDER BY name`,
      [],
    ),
  ]);
  return rows.map(({ state, ...row }) => ({
    ...(JSON.parse(state) as ReplicaState & Pick<Replica, "behind">),
    ...row,
    leases: leases.filter(({ holder }) => holder === row.id).map(({ name }) => name),
  }));
}
