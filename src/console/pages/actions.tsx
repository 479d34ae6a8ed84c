/** @jsxImportSource hono/jsx */
import { readNow } from "../../database/database.ts";
import { type Generation, listGenerations } from "../../database/generation.ts";
import { listRunKinds, listRunsBefore } from "../../database/run.ts";
import { formatNumber } from "../../format.ts";
import type { JobHealth, Run } from "../../model/job.ts";
import type { Viewer } from "../../model/operator.ts";
import type { PageRequest } from "../../page.ts";
import { ActionLink, ActionLinks, mayOperate } from "../components/actions.tsx";
import { EmptyState, RunStatus, Section, Time } from "../components/elements.tsx";
import { NoJobs } from "../components/job-table.tsx";
import { numeric, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";

const maxRuns = 50;

/** `GET /actions`: everything that an operator can do. */
export async function actionsPage({ database, jobs }: ConsoleContext, request: PageRequest): Promise<PageContent> {
  if (!mayOperate(request)) return { body: <ReadOnly viewer={request.viewer} /> };
  const [configured, generations, kinds, now] = await Promise.all([
    jobs(),
    listGenerations(database),
    listRunKinds(database),
    readNow(database),
  ]);
  const running = await listRunsBefore(database, kinds, { standing: "running" }, maxRuns);
  return {
    body: (
      <>
        <p>Each action has a page that says what will happen, and is recorded in the audit.</p>
        <Section id="jobs" title="Jobs">
          {configured.length === 0 ? <NoJobs /> : <Jobs jobs={configured} now={Date.parse(now)} />}
        </Section>
        <Section id="running" title="Runs in progress">
          {running.length === 0 ? (
            <EmptyState title="No runs are in progress." />
          ) : (
            <Running runs={running} now={Date.parse(now)} />
          )}
        </Section>
        <Section id="brands" title="Personalization by brand">
          {generations.length === 0 ? (
            <EmptyState title="No personalization is stored." />
          ) : (
            <Brands generations={generations} />
          )}
        </Section>
      </>
    ),
  };
}

function ReadOnly({ viewer }: { readonly viewer: Viewer | undefined }) {
  if (viewer?.operator === undefined) {
    return (
      <EmptyState title="The console is read-only.">
        <p>
          To act here, create a token with <code>pds token create NAME --role operate</code>, and add it to{" "}
          <code>pds.toml</code>.
        </p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={`${viewer.operator} may only look.`}>
      <p>To act, sign in with a token that has the role operate.</p>
    </EmptyState>
  );
}

const Jobs = ({ jobs, now }: { readonly jobs: readonly JobHealth[]; readonly now: number }) => (
  <Table columns={["Job", "Brand", "Last run", "Actions"]} label="Jobs">
    {jobs.map((health) => {
      const { job, brand, last, pausedSince } = health;
      return (
        <tr>
          <th scope="row" class="nowrap">
            {job}
          </th>
          <td>{brand}</td>
          <td class="nowrap">
            {last === null ? (
              <span class="muted">never run</span>
            ) : (
              <>
                <RunStatus run={last} />{" "}
                <a href={`/runs/${last.id}`}>
                  <Time at={last.finishedAt ?? last.startedAt} now={now} />
                </a>
              </>
            )}
            {pausedSince === null ? "" : <div>paused</div>}
          </td>
          <td>
            <JobActions health={health} />
          </td>
        </tr>
      );
    })}
  </Table>
);

function JobActions({ health: { job, brand, isImport, pausedSince } }: { readonly health: JobHealth }) {
  const given = { fields: { job, brand }, of: `${job} for ${brand}` };
  return (
    <ActionLinks>
      <ActionLink action="run" {...given}>
        Run now
      </ActionLink>{" "}
      {isImport === true ? (
        <ActionLink action="dry-run" {...given}>
          Dry run
        </ActionLink>
      ) : (
        ""
      )}{" "}
      {pausedSince === null ? (
        <ActionLink action="pause" {...given}>
          Pause
        </ActionLink>
      ) : (
        <ActionLink action="resume" {...given}>
          Resume
        </ActionLink>
      )}
    </ActionLinks>
  );
}

const Running = ({ runs, now }: { readonly runs: readonly Run[]; readonly now: number }) => (
  <Table columns={[numeric("Run"), "Job", "Brand", "Started", "Actions"]} label="Runs in progress">
    {runs.map(({ id, job, brand, startedAt }) => (
      <tr>
        <th scope="row" class="number">
          <a href={`/runs/${id}`}>{id}</a>
        </th>
        <td class="nowrap">{job}</td>
        <td>{brand}</td>
        <td>
          <Time at={startedAt} now={now} />
        </td>
        <td>
          <ActionLink action="cancel" fields={{ run: id }} of={`run ${id}`}>
            Cancel
          </ActionLink>
        </td>
      </tr>
    ))}
  </Table>
);

const Brands = ({ generations }: { readonly generations: readonly Generation[] }) => (
  <Table columns={["Brand", numeric("Generation"), numeric("SKUs"), "Actions"]} label="Brands">
    {generations
      .filter(({ isCurrent }) => isCurrent)
      .map(({ id, brand, skus }) => (
        <tr>
          <th scope="row">{brand}</th>
          <td class="number">{id}</td>
          <td class="number">{formatNumber(skus)}</td>
          <td>
            <ActionLinks>
              {generations.filter((each) => each.brand === brand).length > 1 ? (
                <ActionLink action="rollback" fields={{ brand }} of={brand}>
                  Roll back
                </ActionLink>
              ) : (
                ""
              )}{" "}
              <ActionLink action="remove-brand" fields={{ brand }} of={brand}>
                Remove
              </ActionLink>
            </ActionLinks>
          </td>
        </tr>
      ))}
  </Table>
);
