import { hideCredentials } from "../base/credentials.ts";
import type { AuditRecord, AuditRequest, AuditResult } from "../model/audit.ts";
import type { ImportReport } from "../model/import-report.ts";
import type { Database, Queryable } from "./database.ts";

/** Records that an action begins. @returns the id of its record */
export async function beginAudit(
  database: Database,
  { operator, client, action, subject }: AuditRequest,
): Promise<number> {
  // Unlike a write, a read fails if the store's file was replaced: others would see nothing of the action.
  await findAudit(database, 0);
  return await database.inTransaction(async ({ sql, engine }) => {
    const [row] = await sql<{ id: number }[]>`
      INSERT INTO audit_record (begun_at, operator, client, action, subject)
      VALUES (${sql.unsafe(engine.now)}, ${operator}, ${client}, ${action}, ${hideCredentials(subject)}) RETURNING id`;
    if (row === undefined) throw new Error("the database created no audit record");
    return row.id;
  });
}

/** Records how an action ended. A record that has a result keeps it. */
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
const maxId = 2 ** 31 - 1;

/** The newest records, newest first. @param before only those that began before this one */
export async function listAudit({ read }: Queryable, before = maxId, limit = 50): Promise<AuditRecord[]> {
  return await read<AuditRecord>(`SELECT ${columns} FROM audit_record WHERE id < $1 ORDER BY id DESC LIMIT ${limit}`, [
    before,
  ]);
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

/** Removes the oldest records that began before an instant. @returns how many */
export async function removeAudit(database: Database, before: string, limit: number): Promise<number> {
  return await database.inTransaction(async ({ sql }) => {
    const { count } = await sql`
      DELETE FROM audit_record WHERE id IN (
        SELECT id FROM audit_record WHERE begun_at < ${before} ORDER BY begun_at, id LIMIT ${limit})`;
    return count as number;
  });
}
