/** @jsxImportSource hono/jsx */
import { pluralize } from "../../base/format.ts";
import type { Problem } from "../problems.ts";
import { elementId } from "../urls.ts";
import { ExactTime, Section } from "./elements.tsx";

interface ProblemsProps {
  readonly problems: readonly Problem[];
  readonly scheduledJobs: number;
  readonly now: number;
}

export function Problems({ problems, scheduledJobs, now }: ProblemsProps) {
  if (problems.length === 0) {
    const jobs =
      scheduledJobs === 0 ? "No jobs are scheduled." : `${pluralize(scheduledJobs, "scheduled job")}, none overdue.`;
    return (
      <section class="notice ok" aria-label="Problems" data-live="problems">
        <p>
          <strong>No problems.</strong> {jobs}
        </p>
      </section>
    );
  }
  return (
    <Section id="problems" title="Needs attention" class="notice" isLive>
      <ul>
        {problems.map(({ text, since, url }) => (
          <li id={url && elementId("problem", url)}>
            {text}{" "}
            {since !== undefined && (
              <>
                This began at <ExactTime at={since} now={now} />.{" "}
              </>
            )}
            {url !== undefined && <a href={url}>{url.includes("?") ? "Show runs" : "Show run"}</a>}
          </li>
        ))}
      </ul>
    </Section>
  );
}
