import type { Database } from "../database/database.ts";
import type { Run } from "../jobs/run.ts";
import { listRunsBefore, type RunFilter, type RunKind } from "../jobs/run-list.ts";

/** A run, and the runs of its job just before it that failed for the same reason. */
export interface RunRow {
  readonly run: Run;
  /** Newest first; empty unless the run failed. */
  readonly earlier: readonly Run[];
  /** Whether more such runs may be on the next page. */
  readonly mayHaveMore: boolean;
}

export interface FoundRows {
  readonly rows: readonly RunRow[];
  /** The last run of the page; undefined if none are older. */
  readonly stoppedAt: number | undefined;
}

const rowsPerPage = 50;
/** Limits what a page reads if nearly all runs fail for the same reason. */
const readsPerPage = 10;

/** Lists runs, newest first. With a filter by outcome or text, neighbors on the page are not consecutive runs. */
export async function listRunRows(
  database: Database,
  kinds: readonly RunKind[],
  filter: RunFilter,
): Promise<FoundRows> {
  const folds = filter.status === undefined && filter.text === undefined;
  const rows: { run: Run; earlier: Run[] }[] = [];
  const lastOf = new Map<string, (typeof rows)[number]>();
  let { before } = filter;
  const finish = (stoppedAt: number | undefined): FoundRows => {
    const isCut = stoppedAt !== undefined || filter.from !== undefined;
    return {
      rows: rows.map((row) => ({ ...row, mayHaveMore: isCut && lastOf.get(keyOf(row.run)) === row })),
      stoppedAt,
    };
  };
  for (let read = 0; read < readsPerPage; read++) {
    const { runs, stoppedAt } = await listRunsBefore(database, kinds, { ...filter, before }, rowsPerPage);
    for (const run of runs) {
      const last = lastOf.get(keyOf(run));
      if (folds && last !== undefined && isSameFailure(last.run, run)) last.earlier.push(run);
      else {
        if (rows.length === rowsPerPage) return finish(before);
        const row = { run, earlier: [] };
        rows.push(row);
        lastOf.set(keyOf(run), row);
      }
      before = run.id;
    }
    // A search for a text may stop before it has found a whole page.
    if (stoppedAt === undefined || !folds || rows.length === rowsPerPage) return finish(stoppedAt);
  }
  return finish(before);
}

const keyOf = ({ job, brand }: RunKind) => JSON.stringify([job, brand]);

const isSameFailure = (one: Run, other: Run) =>
  one.outcome === "failed" && other.outcome === "failed" && one.reason === other.reason;
