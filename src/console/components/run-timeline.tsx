/** @jsxImportSource hono/jsx */
import { formatDuration, relativeTime, utcTime } from "../../base/format.ts";
import { type RunStatus, runStatuses } from "../../jobs/run.ts";
import type { RunKind } from "../../jobs/run-list.ts";
import { listTimelineRuns, type TimelinePeriod, type TimelineRun } from "../../jobs/run-timeline.ts";
import type { ConsoleContext } from "../context.ts";
import { elementId, urlWithQuery } from "../urls.ts";
import { CommaSeparated, runSeconds, Section } from "./elements.tsx";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The keys are also values of the query parameter `period`. */
const periods = {
  "24h": { title: "24 hours", stepMs: 10 * minuteMs, steps: 144 },
  "7d": { title: "7 days", stepMs: hourMs, steps: 168 },
  "30d": { title: "30 days", stepMs: 4 * hourMs, steps: 180 },
} as const;

type PeriodName = keyof typeof periods;

export const parsePeriod = (name: string | undefined): PeriodName =>
  (Object.keys(periods) as PeriodName[]).find((each) => each === name) ?? "24h";

type Timeline = Awaited<ReturnType<typeof readTimeline>>;

/** @param now epoch milliseconds, by the database's clock */
export async function readTimeline(
  { database }: ConsoleContext,
  kinds: readonly RunKind[],
  name: PeriodName,
  now: number,
) {
  const { stepMs, steps } = periods[name];
  // Whole steps, so that the marks of a page that refreshes itself move together.
  const fromMs = (Math.floor(now / stepMs) + 1 - steps) * stepMs;
  const period = { fromMs, stepMs, steps, now };
  const found = await listTimelineRuns(database, kinds, period);
  const rows = kinds.map(({ job, brand }) => {
    const own = found.filter((run) => run.job === job && run.brand === brand);
    const runs = own.filter((run) => Date.parse(run.startedAt) <= now && endOf(run, now) >= fromMs);
    // It may be before the period.
    return { job, brand, runs, lastFailure: own.findLast(({ outcome }) => outcome === "failed") };
  });
  // The job with the newest failure comes first.
  return { name, period, rows: rows.sort((a, b) => (b.lastFailure?.id ?? 0) - (a.lastFailure?.id ?? 0)) };
}

const endOf = ({ finishedAt }: TimelineRun, now: number) => (finishedAt === null ? now : Date.parse(finishedAt));

interface RunTimelineProps {
  readonly timeline: Timeline;
  /** The page with another period. */
  readonly urlOfPeriod: (name: string) => string;
}

/** A row for each job and brand with a mark for each run. The list of runs is its alternative in text. */
export const RunTimeline = ({ timeline, urlOfPeriod }: RunTimelineProps) => (
  <Section id="timeline" title={`Runs of the last ${periods[timeline.name].title}`} isLive>
    <ul class="timeline">
      {timeline.rows.map((row) => (
        <Row {...row} period={timeline.period} />
      ))}
      <Axis period={timeline.period} />
    </ul>
    <ul class="legend">
      {runStatuses.map((status) => (
        <li>
          <svg viewBox={`0 0 12 ${rowHeight}`} preserveAspectRatio="none" aria-hidden="true">
            <path class={`mark ${status}`} d={shapeOf(status, 3, 6)} />
          </svg>
          {status}
        </li>
      ))}
    </ul>
    <p class="muted">
      A mark is a run, or the worst of those that began within {formatDuration(timeline.period.stepMs / 1000)}. Show{" "}
      <CommaSeparated
        items={Object.entries(periods)
          .filter(([name]) => name !== timeline.name)
          .map(([name, { title }]) => <a href={urlOfPeriod(name)}>{title}</a>)}
      />
      .
    </p>
  </Section>
);

const Row = ({ job, brand, runs, lastFailure, period }: Timeline["rows"][number] & Pick<Timeline, "period">) => (
  <li id={elementId("timeline", job, brand)}>
    <p>
      <a href={urlWithQuery("/runs", { job, brand })}>{job}</a> <span class="muted">{brand}</span>{" "}
      {lastFailure !== undefined && <LastFailure run={lastFailure} now={period.now} />}
    </p>
    {/* Hundreds of links would be a detour for the keyboard. */}
    <svg viewBox={`0 0 ${period.steps} ${rowHeight}`} preserveAspectRatio="none" aria-hidden="true">
      {runs.map((run) => (
        <Mark run={run} period={period} />
      ))}
    </svg>
  </li>
);

/** Without its color once the job has succeeded again. */
function LastFailure({ run, now }: { readonly run: TimelineRun; readonly now: number }) {
  const isRepaired = run.newestSuccess !== null && run.newestSuccess > run.id;
  return (
    <a href={`/runs/${run.id}`} class={isRepaired ? "status" : "status failed"}>
      {isRepaired ? "last failed" : "failed"} {relativeTime(endOf(run, now), now)}
    </a>
  );
}

/** In steps: what is shorter is hard to see. */
const minWidth = 0.6;

function Mark({ run, period }: { readonly run: TimelineRun; readonly period: TimelinePeriod }) {
  const { fromMs, stepMs, now } = period;
  const status = run.outcome ?? "running";
  const toStep = (ms: number) => Math.max(0, (ms - fromMs) / stepMs);
  const [begin, end] = [toStep(Date.parse(run.startedAt)), toStep(endOf(run, now))];
  const took = formatDuration(runSeconds(run, now));
  return (
    <a href={`/runs/${run.id}`} tabindex={-1}>
      <path class={`mark ${status}`} d={shapeOf(status, begin, Math.max(minWidth, end - begin))}>
        <title>
          {status}: {utcTime(run.startedAt)}, {took}
        </title>
      </path>
    </a>
  );
}

const rowHeight = 20;

/** From the top, and how high. Their heights and places tell them apart without their colors. */
const bands: Readonly<Record<RunStatus, readonly (readonly [top: number, height: number])[]>> = {
  succeeded: [[7, 6]],
  failed: [[0, rowHeight]],
  abandoned: [
    [0, 8],
    [12, 8],
  ],
  cancelled: [[0, 8]],
  running: [[12, 8]],
};

const round = (value: number) => Math.round(value * 100) / 100;

const shapeOf = (status: RunStatus, left: number, width: number) =>
  bands[status].map(([top, height]) => `M${round(left)},${top}h${round(width)}v${height}h${-round(width)}z`).join("");

/** Labels at the quarters, where the style sheet draws lines. */
function Axis({ period: { fromMs, stepMs, steps } }: { readonly period: TimelinePeriod }) {
  const quarters = [0, 1, 2, 3].map((quarter) => new Date(fromMs + (quarter * steps * stepMs) / 4).toISOString());
  const isDay = steps * stepMs <= 24 * hourMs;
  return (
    <li class="axis" aria-hidden="true">
      {quarters.map((at) => (
        <span>{isDay ? at.slice(11, 16) : at.slice(5, 10)}</span>
      ))}
    </li>
  );
}
