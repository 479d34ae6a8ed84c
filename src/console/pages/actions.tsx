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
  const [configured, generations, kinds] = await Promise.all([
    jobs(),
    listGenerations(database),
    listRunKinds(database),
  ]);
  const current = generations.filter(({ isCurrent }) => isCurrent);
  const now = Date.parse(await readNow(database));
  const { runs: running } = await listRunsBefore(database, kinds, { status: "running" }, maxRuns);
  return {
    body: (
      <>
        <p>Each action shows what it will do before you confirm it, and is recorded in the audit.</p>
        <Section id="jobs" title="Jobs">
          {listOf(
            configured.map((job) => jobItem(job, now)),
            <NoJobs />,
          )}
        </Section>
        <Section id="running" title="Runs in progress">
          {listOf(
            running.map((run) => runItem(run, now)),
            <EmptyState title="No runs are in progress." />,
          )}
        </Section>
        <Section id="brands" title="Personalization by brand">
          {listOf(current.map(brandItem), <EmptyState title="No personalization is stored." />)}
        </Section>
      </>
    ),
  };
}

function ReadOnly({ viewer }: { readonly viewer: Viewer | undefined }) {
  return viewer?.operator === undefined ? (
    <EmptyState title="The console is read-only.">
      <p>
        To act here, create a token with <code>pds token create NAME --role operate</code>, and add it to{" "}
        <code>pds.toml</code>.
      </p>
    </EmptyState>
  ) : (
    <EmptyState title={`${viewer.operator} has read-only access.`}>
      <p>To act, sign in with a token that has the role operate.</p>
    </EmptyState>
  );
}

const listOf = (items: readonly Child[], empty: Child): Child =>
  items.length === 0 ? empty : <ul class="plain-list">{items}</ul>;

type ItemProps = Readonly<Record<"name" | "about" | "children", Child>>;

/** A list item instead of a table row, whose actions would be out of sight on a phone. */
const Item = ({ name, about, children }: ItemProps) => (
  <li class="item">
    <p>
      <span class="strong">{name}</span> <span class="muted">{about}</span>
    </p>
    <ActionLinks>{children}</ActionLinks>
  </li>
);

function jobItem({ job, brand, last, isImport, pausedSince }: JobHealth, now: number) {
  const action = (name: string, text: string) => (
    <ActionLink action={name} fields={{ job, brand }} of={`${job} for ${brand}`}>
      {text}
    </ActionLink>
  );
  const state = last === null ? "never run" : <LastRun run={last} now={now} />;
  return (
    <Item name={`${job} for ${brand}`} about={[state, pausedSince === null ? "" : ", paused"]}>
      {action("run", "Run now")}
      {isImport === true && action("dry-run", "Dry run")}
      {pausedSince === null ? action("pause", "Pause") : action("resume", "Resume")}
    </Item>
  );
}

const runItem = ({ id, job, brand, startedAt, cancelled }: Run, now: number) => (
  <Item
    name={<a href={`/runs/${id}`}>Run {id}</a>}
    about={[
      `${job} for ${brand}, started `,
      <Time at={startedAt} now={now} />,
      cancelled === null ? "" : `, ${cancelled}`,
    ]}
  >
    {cancelled === null && (
      <ActionLink action="cancel" fields={{ run: id }} of={`run ${id}`}>
        Cancel
      </ActionLink>
    )}
  </Item>
);

const brandItem = ({ id, brand, skus }: Generation) => (
  <Item name={brand} about={`generation ${id} with ${pluralize(skus, "SKU")}`}>
    <a class="action" href={urlWithQuery("/personalization/versions", { brand })}>
      Roll back<span class="visually-hidden"> {brand}</span>
    </a>
    <ActionLink action="remove-brand" fields={{ brand }} of={brand}>
      Remove
    </ActionLink>
  </Item>
);
