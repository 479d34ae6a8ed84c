/** @jsxImportSource hono/jsx */
import type { PurgeFailure, PurgeStatus } from "../../database/purge.ts";
import { durationInWords, pluralize, utcTime } from "../../format.ts";
import { Section } from "./elements.tsx";

/** How far each cache in front of the service has been purged. */
export const Purge = ({ statuses }: { readonly statuses: readonly PurgeStatus[] }) => (
  <Section id="purge" title="CDN" isLive>
    {statuses.map((status) => (
      <p>
        {status.target}: {describe(status)}
      </p>
    ))}
  </Section>
);

function describe({ changes, oldestS, failure }: PurgeStatus): string {
  const failed = failure === undefined ? "" : ` ${describeFailure(failure)}`;
  if (changes === 0) return failure === undefined ? "all changes are purged." : `not purged.${failed}`;
  const age = oldestS === 0 ? "" : `, the oldest for ${durationInWords(oldestS)}`;
  return `${pluralize(changes, "change")} to purge${age}.${failed}`;
}

function describeFailure({ count, since, retryAt, reason }: PurgeFailure): string {
  const all = count === 1 ? "" : ` ${pluralize(count, "purge")} have failed in a row since ${utcTime(since)}.`;
  return `The last purge failed: ${reason}.${all} The next attempt is at ${utcTime(retryAt)}.`;
}
