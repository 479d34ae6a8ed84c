/** @jsxImportSource hono/jsx */
import { durationInWords, pluralize } from "../../format.ts";
import type { EndedProblem } from "../ended-problems.ts";
import type { Problem } from "../problems.ts";
import { ExactTime, Instant, Section } from "./elements.tsx";

interface ProblemsProps {
  readonly problems: readonly Problem[];
  readonly ended: readonly EndedProblem[];
  readonly scheduledJobs: number;
  readonly now: number;
}

/** The problems that there are, or that there are none, and those that have ended lately. */
export function Problems({ problems, ended, scheduledJobs, now }: ProblemsProps) {
  if (problems.length === 0) {
    const jobs =
      scheduledJobs === 0 ? "No jobs are scheduled." : `${pluralize(scheduledJobs, "scheduled job")}, none overdue.`;
    return (
      <section class="notice ok" aria-label="Problems" data-live="problems">
        <p>
          <strong>No problems.</strong> {jobs}
        </p>
        <Ended problems={ended} />
      </section>
    );
  }
  return (
    <Section id="problems" title="Needs attention" class="notice" isLive>
      <ul>
        {problems.map(({ text, since, url }) => (
          <li>
            {text}{" "}
            {since === undefined ? (
              ""
            ) : (
              <>
                This began at <ExactTime at={since} now={now} />.{" "}
              </>
            )}
            {url === undefined ? "" : <ProblemLink url={url} />}
          </li>
        ))}
      </ul>
      <Ended problems={ended} />
    </Section>
  );
}

const ProblemLink = ({ url }: { readonly url: string }) => (
  <a href={url}>{url.includes("?") ? "Show runs" : "Show run"}</a>
);

const Ended = ({ problems }: { readonly problems: readonly EndedProblem[] }) =>
  problems.length === 0 ? (
    ""
  ) : (
    <details>
      <summary>Ended in the last seven days</summary>
      <ul>
        {problems.map(({ text, since, until, url }) => (
          <li>
            {text} It lasted {durationInWords(Math.max(0, Date.parse(until) - Date.parse(since)) / 1000)}, from{" "}
            <Instant at={since} /> to <Instant at={until} />. {url === undefined ? "" : <ProblemLink url={url} />}
          </li>
        ))}
      </ul>
    </details>
  );
