/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { formatNumber, relativeTime, utcTime } from "../../base/format.ts";
import type { Run } from "../../jobs/run.ts";
import { urlWithQuery } from "../urls.ts";

interface TimeProps {
  /** ISO 8601 in UTC. */
  readonly at: string;
  readonly now: number;
}

/** A relative time with the exact time as its tooltip. */
export const Time = ({ at, now }: TimeProps) => (
  <time datetime={at} title={utcTime(at)}>
    {relativeTime(Date.parse(at), now)}
  </time>
);

/** An exact time. The script adds the local one. */
export const Instant = ({ at }: Pick<TimeProps, "at">) => (
  <time datetime={at} class="exact">
    {utcTime(at)}
  </time>
);

export const ExactTime = ({ at, now }: TimeProps) => (
  <>
    <Instant at={at} /> <span class="muted">({relativeTime(Date.parse(at), now)})</span>
  </>
);

/** A relative time above the exact time, for cells. */
export const StackedTime = ({ at, now }: TimeProps) => (
  <>
    <Time at={at} now={now} />
    <time class="muted exact small" datetime={at}>
      {utcTime(at)}
    </time>
  </>
);

interface SectionProps {
  readonly id: string;
  readonly title: Child;
  readonly class?: string;
  /** Whether it changes in a refresh, which waits while the reader uses it. */
  readonly isLive?: boolean;
  readonly children?: Child;
}

export const Section = ({ id, title, class: className, isLive = false, children }: SectionProps) => (
  <section aria-labelledby={id} class={className} data-live={isLive ? id : undefined}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
);

/**
 * Preformatted text in a box with its own scroll bars; focusable, so that the keyboard can scroll
 * it.
 */
export const Preformatted = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <section class="preformatted" tabindex={0} aria-label={label}>
    <pre>{text}</pre>
  </section>
);

/** The status of a run as a word with an icon, so that it doesn't depend on color alone. */
export function RunBadge({ run }: { readonly run: Pick<Run, "outcome"> }) {
  const status = run.outcome ?? "running";
  return <span class={`status ${status}`}>{status}</span>;
}

/** How a run ended and when, or since when it runs. */
export const LastRun = ({ run, now, id }: { readonly run: Run; readonly now: number; readonly id?: string }) => (
  <>
    <RunBadge run={run} />{" "}
    <a href={`/runs/${run.id}`} {...(id !== undefined && { id })}>
      <Time at={run.finishedAt ?? run.startedAt} now={now} />
    </a>
  </>
);

/** An import counts 0 if its feed had not changed, or was incomplete. */
export function RunCount({ run }: { readonly run: Pick<Run, "job" | "outcome" | "counts"> }) {
  const isNothingNew = run.counts === 0 && run.outcome === "succeeded" && run.job.endsWith("-import");
  return isNothingNew ? <span class="muted">nothing new</span> : formatNumber(run.counts);
}

/** The duration of a run, so far if it is still running; 0 if the clock was set back in between. */
export function runSeconds({ startedAt, finishedAt }: Pick<Run, "startedAt" | "finishedAt">, now: number): number {
  const endMs = finishedAt === null ? now : Date.parse(finishedAt);
  return Math.max(0, endMs - Date.parse(startedAt)) / 1000;
}

/** The content is the next step. */
export const EmptyState = ({ title, children }: { readonly title: string; readonly children?: Child }) => (
  <div class="empty">
    <p class="strong">{title}</p>
    {children}
  </div>
);

/** @param things in the plural */
export const NoMatch = ({ things, url }: { readonly things: string; readonly url: string }) => (
  <EmptyState title={`No ${things} match these filters.`}>
    <p>
      Remove a filter, or show <a href={url}>all {things}</a>.
    </p>
  </EmptyState>
);

export type Fact = readonly [name: string, value: Child];

export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

export const CommaSeparated = ({ items }: { readonly items: readonly Child[] }) => (
  <>{items.flatMap((item, index) => (index === 0 ? [item] : [", ", item]))}</>
);

interface SkuLinkProps {
  readonly sku: string;
  readonly brand?: string | undefined;
  /** By default the SKU. */
  readonly text?: string;
}

export const SkuLink = ({ sku, brand, text = sku }: SkuLinkProps) => (
  <a href={urlWithQuery("/personalization", { sku, brand })}>{text}</a>
);
