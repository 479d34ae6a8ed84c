import { gauge, type Metric, type Samples } from "../base/metric.ts";
import { type JobStatus, outcomes } from "./run.ts";

const jobGauges: readonly (readonly [name: string, help: string, value: (status: JobStatus) => number | undefined])[] =
  [
    [
      "last_success_timestamp_seconds",
      "Time of the last success, as a Unix timestamp.",
      ({ lastSuccess }) => toSeconds(lastSuccess),
    ],
    ["last_success_age_seconds", "Time since the last success.", ({ age }) => age ?? undefined],
    ["stale", "1 if the last success is too long ago.", ({ isStale }) => Number(isStale)],
    [
      "from_future",
      "1 if the newest run is in the future, because the database's clock was set back.",
      ({ isAhead }) => Number(isAhead),
    ],
    ["paused", "1 while the job is paused.", ({ pausedSince }) => Number(pausedSince !== null)],
    ["running", "1 while a run is in progress.", ({ runningSince }) => Number(runningSince !== null)],
    ["slow", "1 while a run takes far longer than the last successful ones.", ({ isSlow }) => Number(isSlow)],
    [
      "next_run_timestamp_seconds",
      "Time of the next scheduled run, as a Unix timestamp.",
      ({ next }) => toSeconds(next),
    ],
    [
      "last_run_timestamp_seconds",
      "End of the last run, as a Unix timestamp.",
      ({ last }) => toSeconds(last?.finishedAt ?? null),
    ],
    [
      "last_run_duration_seconds",
      "Duration of the last run.",
      ({ last }) => (last === null ? undefined : durationS(last)),
    ],
    [
      "last_run_records",
      "Number of records that the last run counted, such as imported rows.",
      ({ last }) => (last?.finishedAt == null ? undefined : last.counts),
    ],
  ];

export function measureJobs(statuses: readonly JobStatus[]): Metric[] {
  const gauges = jobGauges.map(([name, help, value]): Metric => {
    const samples = statuses.flatMap((status): Samples => {
      const found = value(status);
      return found === undefined ? [] : [[found, labelsOf(status)]];
    });
    return gauge(`job_${name}`, help, "job brand", samples);
  });
  const byOutcome = statuses.flatMap((status) =>
    outcomes.map((outcome) => [Number(status.last?.outcome === outcome), { ...labelsOf(status), outcome }] as const),
  );
  const help = "1 for the outcome of the last run, 0 for the other outcomes.";
  return [...gauges, gauge("job_last_run_outcome", help, "job brand outcome", byOutcome)];
}

const labelsOf = ({ job, brand }: JobStatus) => ({ job, brand });

const durationS = ({ startedAt, finishedAt }: { readonly startedAt: string; readonly finishedAt: string | null }) =>
  finishedAt === null ? undefined : (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000;

const toSeconds = (instant: string | null) => (instant === null ? undefined : Date.parse(instant) / 1000);
