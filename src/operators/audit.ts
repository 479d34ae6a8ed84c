import { hideCredentials } from "../base/credentials.ts";
import { maxId } from "../base/id.ts";
import type { Database, Queryable } from "../database/database.ts";
import type { ImportReport } from "../jobs/import-report.ts";

/** How an operator's action ended. `refused`: a check prevented it, and nothing was changed. */
export type AuditOutcome = "done" | "refused" | "failed";

export interface AuditRequest {
  readonly operator: string;
  readonly client: string;
  readonly action: string;
  /** In words, such as a job or a run. */
  readonly subject: string;
}

export interface AuditResult {
  readonly outcome: AuditOutcome;
  /** In words. */
  readonly result: string;
  readonly report?: ImportReport | undefined;
}

/** Times are ISO 8601 in UTC, by the database's clock. */
export interface AuditRecord extends AuditRequest {
  readonly id: number;
  readonly begunAt: string;
  /** Null until the action has ended, as are outcome and result. */
  readonly endedAt: string | null;
  readonly outcome: AuditOutcome | null;
  readonly result: string | null;
}

/** @returns the id of the new record */
export async function beginAudit(
  database: Database,
  { operator, client, action, subject }: AuditRequest,
): Promise<number> {
  // A read, unlike a write, fails if the store's file was replaced, which would hide the record.
  await findAudit(database, 0);
  return await database.inTransaction(async ({ sql, engine }) => {
    const [row] = await sql<{ id: number }[]>`
      INSERT INTO audit_record (begun_at, operator, client, action, subject)
      VALUES (${sql.unsafe(engine.now)}, ${operator}, ${client}, ${action}, ${hideCredentials(subject)}) RETURNING id`;
    if (row === undefined) throw new Error("the database created no audit record");
    return row.id;
  });
}

/** A record that has a result keeps it. */
export async function endAudit(
  database: Database,
  id: number,
  { outcome, result, report }: AuditResult,
): Promise<void> {
  const text = report === undefined ? null : hideCredentials(JSON.stringify(report));
  await database.inTransaction(
    ({ sql, engine }) => sql`
      UPDATE audit_record SET ended_at = ${sql.unsafe(engine.now)}, outcome = ${outcome},
        result = ${hideCredentials(result)}, report = ${text}
      WHERE id = ${id} AND outcome IS NULL`,
  );
}

const columns = `id, begun_at AS "begunAt", operator, client, action, subject, ended_at AS "endedAt", outcome, result`;

export interface AuditFilter {
  readonly operator?: string | undefined;
  /** Inclusive; ISO 8601 in UTC. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
  /** Only records that began before this one. */
  readonly before?: number | undefined;
}

export async function listAudit(
  { read }: Queryable,
  { operator, from, until, before = maxId }: AuditFilter,
  limit: number,
): Promise<AuditRecord[]> {
  const given = Object.entries({ "id <": before, "operator =": operator, "begun_at >=": from, "begun_at <": until });
  const values: (string | number)[] = [];
  const conditions = given.flatMap(([comparison, value]) =>
    value === undefined ? [] : [`${comparison} $${values.push(value)}`],
  );
  return await read<AuditRecord>(
    `SELECT ${columns} FROM audit_record WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ${limit}`,
    values,
  );
}

const searchedForOperators = 10_000;
const maxOperators = 100;

/** The names in the newest records, in alphabetical order. */
export async function listOperators({ read }: Queryable): Promise<string[]> {
  const rows = await read<{ operator: string }>(
    `SELECT DISTINCT operator FROM (
      SELECT operator FROM audit_record ORDER BY id DESC LIMIT ${searchedForOperators}
    ) AS newest ORDER BY operator LIMIT ${maxOperators}`,
    [],
  );
  return rows.map(({ operator }) => operator);
}

/** @returns undefined when there is no such record */
export async function findAudit(
  { read }: Queryable,
  id: number,
): Promise<(AuditRecord & { readonly report: ImportReport | undefined }) | undefined> {
  const [row] = await read<AuditRecord & { report: string | null }>(
    `SELECT ${columns}, report FROM audit_record WHERE id = $1`,
    [id],
  );
  return row && { ...row, report: row.report === null ? undefined : (JSON.parse(row.report) as ImportReport) };
}

const removalBatch = 500;

export async function removeAudit(database: Database, before: string, signal: AbortSignal): Promise<void> {
  const removeBatch = () =>
    database.inTransaction(
      ({ sql }) => sql`
        DELETE FROM audit_record WHERE id IN (
          SELECT id FROM audit_record WHERE begun_at < ${before} ORDER BY begun_at, id LIMIT ${removalBatch})`,
    );
  while ((await removeBatch()).count === removalBatch) signal.throwIfAborted();
}
