/** @jsxImportSource hono/jsx */
import { formatDuration, formatNumber, pluralize } from "../../base/format.ts";
import { parseId } from "../../base/id.ts";
import { readNow } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import { isOverridable, type Run } from "../../jobs/run.ts";
import { findLastSuccess, findReport, findRun } from "../../jobs/runs.ts";
import { ActionLink, ActionLinks, mayOperate } from "../components/actions.tsx";
import {
  EmptyState,
  ExactTime,
  Facts,
  Preformatted,
  RunBadge,
  RunCount,
  runSeconds,
  Section,
} from "../components/elements.tsx";
import { RunReport } from "../components/run-report.tsx";
import type { ConsoleContext, PageContent, PageContext } from "../context.ts";
import { describeServed } from "../problems.ts";
import { urlWithQuery } from "../urls.ts";

/** `GET /runs/:id`: a run and its report. */
export async function runPage(context: PageContext, request: PageRequest): Promise<PageContent | undefined> {
  const { parameter } = request;
  const id = parseId(parameter("id"));
  if (id === undefined) return undefined;
  const { run, report, lastSuccess, now } = await context.shared.readFor(request, `run ${id}`, () =>
    readRun(context, id),
  );
  if (run === undefined) return undefined;
  return {
    title: `Run ${run.id}: ${run.job}`,
    scripts: isChanging(run, now) ? ["/console/refresh.js"] : [],
    body: (
      <div data-live="run">
        {run.reason !== null && <Reason run={run} lastSuccess={lastSuccess} />}
        {mayOperate(request) && <RunActions run={run} />}
        <RunFacts run={run} now={now} />
        {report === undefined ? <NoReport run={run} /> : <RunReport report={report} />}
        {run.log !== null && <Log log={run.log} />}
        <p>
          <a href={urlWithQuery("/runs", { job: run.job, brand: run.brand })}>
            All runs of {run.job} for {run.brand}
          </a>
        </p>
      </div>
    ),
  };
}

async function readRun({ database }: ConsoleContext, id: number) {
  const run = await findRun(database, id);
  // After the run, so that the page of a finished run never misses the report.
  const [report, lastSuccess = null, now] = await Promise.all([
    findReport(database, id),
    run && findLastSuccess(database, run.job, run.brand),
    readNow(database),
  ]);
  return { run, report, lastSuccess, now: Date.parse(now) };
}

/** After a run has ended, its supervisor adds the last lines of its output. */
const settlingMs = 15_000;

const isChanging = ({ finishedAt }: Run, now: number) =>
  finishedAt === null || now - Date.parse(finishedAt) < settlingMs;

function RunActions({ run }: { readonly run: Run }) {
  const { id, job, brand, finishedAt, outcome, cancelled } = run;
  if (outcome === "succeeded" || (finishedAt === null && cancelled !== null)) return "";
  return (
    <ActionLinks>
      <ActionLink action={finishedAt === null ? "cancel" : "retry"} fields={{ run: id }}>
        {finishedAt === null ? "Cancel this run" : "Retry"}
      </ActionLink>{" "}
      {isOverridable(run) && (
        <ActionLink action="force" fields={{ job, brand }}>
          Import without checks
        </ActionLink>
      )}
    </ActionLinks>
  );
}

function RunFacts({ run, now }: { readonly run: Run; readonly now: number }) {
  const time = (at: string | null, otherwise: string) => (at === null ? otherwise : <ExactTime at={at} now={now} />);
  const isEnding = run.finishedAt === null && run.cancelled !== null;
  return (
    <Facts
      facts={[
        ["Outcome", [<RunBadge run={run} />, isEnding ? `, ${run.cancelled}: it ends within seconds` : ""]],
        ["Brand", run.brand],
        ["Count", <RunCount run={run} />],
        ["Started", time(run.startedAt, "")],
        ["Finished", time(run.finishedAt, "still running")],
        ["Duration", formatDuration(runSeconds(run, now))],
        [
          "Scheduled for",
          time(
            run.scheduledAt,
            `not scheduled: ${run.isFirst === 1 ? "the job had never succeeded, so it ran at once" : "started manually"}`,
          ),
        ],
        ["Attempt", formatNumber(run.attempt)],
      ]}
    />
  );
}

const Reason = ({ run, lastSuccess }: { readonly run: Run; readonly lastSuccess: string | null }) => (
  <Section id="reason" title={run.outcome === "failed" ? "Why it failed" : `Why it was ${run.outcome}`} class="notice">
    <p class="break-anywhere">{run.reason}</p>
    <p>
      {lastSuccess !== null && lastSuccess > run.startedAt
        ? "A later run has succeeded."
        : describeServed(run.job, lastSuccess)}
    </p>
  </Section>
);

const NoReport = ({ run }: { readonly run: Run }) => (
  <EmptyState title="No report">
    <p>
      {run.finishedAt === null
        ? "The report is written when the run finishes."
        : "The run ended before it could write a report, or its version of the service did not write reports."}
    </p>
  </EmptyState>
);

function Log({ log }: { readonly log: string }) {
  const lines = log.split("\n").filter((line) => line !== "").length;
  return (
    <Section id="log" title={lines === 1 ? "Last line of output" : `Last ${pluralize(lines, "line")} of output`}>
      <Preformatted label="Last lines of output" text={log} />
    </Section>
  );
}
