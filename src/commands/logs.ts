import { ServiceError } from "../base/errors.ts";
import type { ImportReport } from "../jobs/import-report.ts";
import type { Run } from "../jobs/run.ts";
import { findReport, findRun } from "../jobs/runs.ts";
import { parseRunId, type Values, withStore } from "./common.ts";
import { print, printSafeJson, toSnakeCase } from "./output.ts";
import { describeContent, describeProblems } from "./report.ts";

export async function printLogs(text: string, values: Values): Promise<boolean> {
  const id = parseRunId("logs", text);
  return await withStore(async (database) => {
    const run = await findRun(database, id);
    if (run === undefined) throw new ServiceError("not_found", `there is no run ${id}; "pds history" lists the runs`);
    const report = await findReport(database, id);
    if (values.json === true) printSafeJson(toJson(run, report));
    else {
      for (const line of describeRun(run)) print(line);
      if (report !== undefined) {
        for (const line of [...describeProblems(report), ...describeContent(report)]) print(line);
      }
      if (run.log !== null) print(run.log.trimEnd());
    }
    return true;
  });
}

function toJson({ id, isFirst, ...run }: Run, report: ImportReport | undefined) {
  return toSnakeCase({ run: id, ...run, isFirst: isFirst === 1, report: report ?? null });
}

function describeRun({ id, job, brand, startedAt, finishedAt, outcome, counts, reason }: Run): string[] {
  const end = finishedAt === null ? "still running" : `${outcome} at ${finishedAt}`;
  return [
    `run ${id}: ${job} for ${brand}, started at ${startedAt}, ${end}, counts ${counts}`,
    ...(reason === null ? [] : [reason]),
  ];
}
