import { ServiceError } from "../base/errors.ts";
import { thisProgram } from "../base/program.ts";
import type { ImportReport } from "./import-report.ts";
import type { PlannedJob } from "./job.ts";
import { endOnAbort, sendLine } from "./supervisor.ts";

export interface DryRun {
  readonly counts: number;
  readonly reason: string | undefined;
  readonly report: ImportReport;
}

/**
 * The child is stopped at the job's time limit, and by the signal.
 * @throws ServiceError `unavailable` if it ends without a result
 */
export async function dryRunInProcess(job: PlannedJob, config: object, signal: AbortSignal): Promise<DryRun> {
  signal.throwIfAborted();
  const child = Bun.spawn(
    [...thisProgram(), "run", job.name, `--brand=${job.brand}`, "--claimed", "0", "--dry-run"],
    // The pipe also tells the child that this process is gone.
    { stdin: "pipe", stdout: "pipe", stderr: "pipe" },
  );
  sendLine(child.stdin, JSON.stringify(config));
  const limit = AbortSignal.timeout(job.plan.limitSeconds * 1000);
  using _ = endOnAbort(child, AbortSignal.any([signal, limit]));
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return parseResult(output) ?? fail(errors);
}

function parseResult(output: string): DryRun | undefined {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}

function fail(errors: string): never {
  const last = errors.trim().split("\n").at(-1);
  throw new ServiceError("unavailable", `the dry run ended without a result: ${last || "its process was stopped"}`);
}
