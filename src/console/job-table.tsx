/** @jsxImportSource hono/jsx */
import type { JobHealth } from "../job.ts";
import { exact, number, relative } from "./format.ts";
import { addressOf } from "./page.ts";
import { Empty, Standing, Table, Time } from "./parts.tsx";

export function Jobs({ jobs, now }: { readonly jobs: readonly JobHealth[]; readonly now: number }) {
  return (
    <Table head={["Job", "Last run", "Brand", "Data is from", "Counts", "Next", "Source"]} label="Jobs">
      {jobs.map(({ job, brand, last, runningSince, lastSuccess, isStale, next, schedule, source }) => (
        <tr>
          <th scope="row" class="fixed">
            <a href={addressOf("/runs", { job, brand })}>{job}</a>
          </th>
          <td class="fixed">
            {runningSince === null ? "" : <Standing run={{ outcome: null }} />}{" "}
            {last === null ? (
              runningSince === null && <span class="quiet">never run</span>
            ) : (
              <>
                <Standing run={last} />{" "}
                <a href={`/runs/${last.id}`}>
                  <Time at={last.finishedAt ?? last.startedAt} now={now} />
                </a>
              </>
            )}
          </td>
          <td>{brand}</td>
          <td>
            {lastSuccess === null ? <span class="quiet">never</span> : <Time at={lastSuccess} now={now} />}
            {isStale ? <div class="too-old">too old</div> : ""}
          </td>
          <td class="number">{last === null ? "" : number(last.counts)}</td>
          <td>
            {next === null ? <span class="quiet">by hand</span> : <NextTime at={next} now={now} schedule={schedule} />}
          </td>
          <td class="source">{source}</td>
        </tr>
      ))}
    </Table>
  );
}

function NextTime({
  at,
  now,
  schedule,
}: {
  readonly at: string;
  readonly now: number;
  readonly schedule: string | null;
}) {
  const text = Date.parse(at) <= now ? "due now" : relative(Date.parse(at), now);
  return (
    <>
      <time datetime={at} title={exact(at)}>
        {text}
      </time>
      <div class="quiet fixed">{schedule}</div>
    </>
  );
}

export const NoJobs = () => (
  <Empty title="No job is configured, and none has run.">
    <p>
      Add a table such as <code>[jobs.catalog-import]</code> to <code>pds.toml</code>, or import by hand:{" "}
      <code>pds import products FILE</code>, <code>pds import personalization FOLDER</code>.
    </p>
  </Empty>
);
