export type ProbeResult = "fresh" | "stale" | "failed";

export class PurgeCounter {
  sent = 0;
  failed = 0;
  tags = 0;
  kinds = 0;
  readonly probes: Record<ProbeResult, number> = { fresh: 0, stale: 0, failed: 0 };
}
