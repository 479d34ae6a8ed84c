import type { JobStatus, Outcome } from "../job.ts";
import type { Handler } from "./server.ts";

const outcomes: readonly Outcome[] = ["succeeded", "failed", "abandoned"];

/** `GET /metrics`: how the jobs do, read from the stored runs at each request, so that every replica tells the same. */
export function getMetrics(jobStatus: () => Promise<JobStatus[]>): Handler {
  return async () => {
    const statuses = await jobStatus();
    // Loaded when somebody asks: at the start it would take a third of the time.
    const { Gauge, Registry } = await import("prom-client");
    const registry = new Registry();
    const gauge = (name: string, help: string, ...labels: string[]) =>
      new Gauge({ name: `pds_job_${name}`, help, labelNames: ["job", "brand", ...labels], registers: [registry] });
    const success = gauge("last_success_timestamp_seconds", "When the job last succeeded, in Unix time.");
    const age = gauge("last_success_age_seconds", "How long ago the job last succeeded.");
    const stale = gauge("stale", "1 when that is too long ago.");
    const running = gauge("running", "1 while a run is under way.");
    const next = gauge("next_run_timestamp_seconds", "When the schedule has it run next, in Unix time.");
    const outcome = gauge("last_run_outcome", "1 for how the last run ended, 0 for the other outcomes.", "outcome");
    const finished = gauge("last_run_timestamp_seconds", "When the last run ended, in Unix time.");
    const duration = gauge("last_run_duration_seconds", "How long the last run took.");
    const count = gauge("last_run_count", "What the last run counted, such as imported rows.");

    for (const status of statuses) {
      const { job, brand, last } = status;
      const of = { job, brand };
      stale.set(of, Number(status.isStale));
      running.set(of, Number(status.runningSince !== null));
      if (status.next !== null) next.set(of, toSeconds(status.next));
      if (status.lastSuccess !== null) success.set(of, toSeconds(status.lastSuccess));
      if (status.age !== null) age.set(of, status.age);
      for (const name of outcomes) outcome.set({ ...of, outcome: name }, Number(last?.outcome === name));
      if (last?.finishedAt == null) continue;
      finished.set(of, toSeconds(last.finishedAt));
      duration.set(of, (Date.parse(last.finishedAt) - Date.parse(last.startedAt)) / 1000);
      count.set(of, last.counts);
    }
    return { status: 200, type: registry.contentType, body: await registry.metrics() };
  };
}

const toSeconds = (instant: string) => Date.parse(instant) / 1000;
