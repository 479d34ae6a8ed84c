/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { pluralize } from "../../base/format.ts";
import { readNow } from "../../database/database.ts";
import type { PageRequest, Viewer } from "../../http/page.ts";
import type { JobHealth, Run } from "../../jobs/run.ts";
import { listRunKinds, listRunsBefore } from "../../jobs/run-list.ts";
import { type Generation, listGenerations } from "../../personalization/generation.ts";
import { ActionLink, ActionLinks, mayOperate } from "../components/actions.tsx";
import { EmptyState, LastRun, Section, Time } from "../components/elements.tsx";
import { NoJobs } from "../components/job-table.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";
import { urlWithQuery } from "../urls.ts";

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
  const { runs: running } = await listRunsBefore(database, kinds, { standing: "running" }, maxRuns);
  return {
    body: (
      <>
        <p>Each action shows what it will do before you confirm it, and is recorded in the audit.</p>
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
    <EmptyState title={`${viewer.operator} has read-only access.`}>
      <p>To act, sign in with a token that has the role operate.</p>
    </EmptyState>
  );
}

interface ItemProps {
  readonly name: Child;
  readonly about: Child;
  readonly children?: Child;
}

/** A list item instead of a table row, whose actions would be out of sight on a phone. */
const Item = ({ name, about, children }: ItemProps) => (
  <li class="item">
    <p>
      <span class="strong">{name}</span> <span class="muted">{about}</span>
    </p>
    <ActionLinks>{children}</ActionLinks>
  </li>
);

const Jobs = ({ jobs, now }: { readonly jobs: readonly JobHealth[]; readonly now: number }) => (
  <ul class="plain-list">
    {jobs.map((health) => (
      <Item
        name={`${health.job} for ${health.brand}`}
        about={
          <>
            {health.last === null ? "never run" : <LastRun run={health.last} now={now} />}
            {health.pausedSince !== null && ", paused"}
          </>
        }
      >
        <JobActions health={health} />
      </Item>
    ))}
  </ul>
);

function JobActions({ health: { job, brand, isImport, pausedSince } }: { readonly health: JobHealth }) {
  const shared = { fields: { job, brand }, of: `${job} for ${brand}` };
  const actions: [action: string, text: string][] = [
    ["run", "Run now"],
    ...(isImport === true ? [["dry-run", "Dry run"] as [string, string]] : []),
    pausedSince === null ? ["pause", "Pause"] : ["resume", "Resume"],
  ];
  return actions.map(([action, text]) => (
    <ActionLink action={action} {...shared}>
      {text}
    </ActionLink>
  ));
}

const Running = ({ runs, now }: { readonly runs: readonly Run[]; readonly now: number }) => (
  <ul class="plain-list">
    {runs.map(({ id, job, brand, startedAt, cancelled }) => (
      <Item
        name={<a href={`/runs/${id}`}>Run {id}</a>}
        about={
          <>
            {job} for {brand}, started <Time at={startedAt} now={now} />
            {cancelled === null ? "" : `, ${cancelled}`}
          </>
        }
      >
        {cancelled === null && (
          <ActionLink action="cancel" fields={{ run: id }} of={`run ${id}`}>
            Cancel
          </ActionLink>
        )}
      </Item>
    ))}
  </ul>
);

const Brands = ({ generations }: { readonly generations: readonly Generation[] }) => (
  <ul class="plain-list">
    {generations
      .filter(({ isCurrent }) => isCurrent)
      .map(({ id, brand, skus }) => (
        <Item name={brand} about={`generation ${id} with ${pluralize(skus, "SKU")}`}>
          <a class="action" href={urlWithQuery("/personalization/versions", { brand })}>
            Roll back<span class="visually-hidden"> {brand}</span>
          </a>
          <ActionLink action="remove-brand" fields={{ brand }} of={brand}>
            Remove
          </ActionLink>
        </Item>
      ))}
  </ul>
);
