/** @jsxImportSource hono/jsx */
import { formatDuration, formatDurationCompactly, formatNumber, truncate } from "../../base/format.ts";
import { parseId } from "../../base/id.ts";
import { readNow } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import { type Run, runStatuses } from "../../jobs/run.ts";
import { listRunKinds, type RunFilter, type RunKind } from "../../jobs/run-list.ts";
import { readDurationCharts, runsPerSeries } from "../charts.ts";
import { ActionLink, ActionLinks, mayOperate } from "../components/actions.tsx";
import { Chart, ChartTable } from "../components/chart.tsx";
import {
  CommaSeparated,
  EmptyState,
  Instant,
  NoMatch,
  RunBadge,
  RunCount,
  runSeconds,
  Section,
  StackedTime,
} from "../components/elements.tsx";
import { DayFields, type Days, FilterForm, parseDays, Select, TextField } from "../components/fields.tsx";
import { parsePeriod, RunTimeline, readTimeline } from "../components/run-timeline.tsx";
import { type Column, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";
import { listRunRows, type RunRow } from "../run-rows.ts";
import { queryParameter, urlOf } from "../urls.ts";

const reasonLength = 160;

/**
 * `GET /runs?job=&brand=&outcome=&from=&to=&text=&before=&period=`: the last runs on a timeline, and
 * all runs, newest first, in pages; of one job also how long they took.
 */
export async function runsPage(context: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const { database } = context;
  const filter = filterOf(request);
  const kinds = await listRunKinds(database);
  const { rows, stoppedAt } = await listRunRows(database, kinds, filter);
  const now = Date.parse(await readNow(database));
  const shown = kinds.filter(({ job, brand }) => (filter.job ?? job) === job && (filter.brand ?? brand) === brand);
  const period = parsePeriod(queryParameter(request, "period"));
  const timeline = filter.before === undefined && (await readTimeline(context, shown, period, now));
  const durations = filter.job === undefined ? [] : await readDurationCharts(database, shown);
  return {
    body: (
      <>
        {timeline && timeline.rows.length > 0 && (
          <RunTimeline timeline={timeline} urlOfPeriod={(name) => urlOf(request, { period: name })} />
        )}
        {renderFilters(request, kinds, filter)}
        {mayOperate(request) && rows.some(({ run }) => mayRetry(run)) && !hasOtherFilters(request) && (
          <ActionLinks>
            <ActionLink
              action="retry-matching"
              fields={{ job: filter.job, brand: filter.brand, outcome: filter.status }}
            >
              Retry all that match
            </ActionLink>
          </ActionLinks>
        )}
        <Table columns={runColumns(now)} rows={rows} label="Runs, newest first">
          {stoppedAt === undefined ? (
            <NoRuns hasAny={kinds.length > 0} />
          ) : (
            <EmptyState title="No match so far. Older runs have not been searched yet." />
          )}
        </Table>
        <nav class="pagination" aria-label="Pages">
          {filter.before !== undefined && <a href={urlOf(request, { before: undefined })}>Newest runs</a>}
          {stoppedAt !== undefined && <a href={urlOf(request, { before: stoppedAt })}>Older runs</a>}
        </nav>
        {durations.map(({ job, series }) => (
          <Section id="durations" title={`Durations of ${job}`}>
            <p class="muted">The last {runsPerSeries} successful runs, one line per brand.</p>
            <Chart id="duration" title="Duration of each run" series={series} format={formatDurationCompactly}>
              <details>
                <summary>Show as table</summary>
                <ChartTable title="Duration of each run" series={series} />
              </details>
            </Chart>
          </Section>
        ))}
      </>
    ),
  };
}

const maxTextLength = 200;

type PageFilter = RunFilter & Days;

function filterOf(request: PageRequest): PageFilter {
  return {
    job: queryParameter(request, "job"),
    brand: queryParameter(request, "brand"),
    status: runStatuses.find((status) => status === queryParameter(request, "outcome")),
    text: queryParameter(request, "text")?.slice(0, maxTextLength),
    ...parseDays(request),
    before: parseId(queryParameter(request, "before") ?? ""),
  };
}

/** The filters that the action knows. With any other, it would retry more runs than the page shows. */
const retryParameters = ["job", "brand", "outcome", "before", "period"];

const hasOtherFilters = ({ url }: PageRequest) =>
  [...url.searchParams].some(([name, value]) => value !== "" && !retryParameters.includes(name));

const mayRetry = ({ outcome }: Run) => outcome !== null && outcome !== "succeeded";

function renderFilters(request: PageRequest, kinds: readonly RunKind[], filter: PageFilter) {
  const period = queryParameter(request, "period");
  const hasFilters = [...request.url.searchParams].some(([name, value]) => value !== "" && name !== "period");
  const namesOf = (key: "job" | "brand") => [...new Set(kinds.map((kind) => kind[key]))].sort();
  const withAll = (text: string, values: readonly string[]) => [{ value: "", text }, ...values];
  return (
    <FilterForm action="/runs" hasFilters={hasFilters}>
      {period !== undefined && <input type="hidden" name="period" value={period} />}
      <Select name="job" label="Job" options={withAll("All jobs", namesOf("job"))} selected={filter.job} />
      <Select name="brand" label="Brand" options={withAll("All brands", namesOf("brand"))} selected={filter.brand} />
      <Select name="outcome" label="Outcome" options={withAll("All outcomes", runStatuses)} selected={filter.status} />
      <DayFields days={filter} />
      <TextField type="search" name="text" label="Text in the reason" value={filter.text} class="wide" />
    </FilterForm>
  );
}

const runColumns = (now: number): readonly Column<RunRow>[] => [
  { title: "Run", cell: ({ run: { id } }) => <a href={`/runs/${id}`}>{id}</a>, isNumber: true },
  { title: "Outcome", cell: (row) => <Outcome row={row} /> },
  { title: "Job", value: ({ run }) => run.job, class: "nowrap" },
  { title: "Brand", value: ({ run }) => run.brand, class: "name" },
  { title: "Started", cell: ({ run }) => <StackedTime at={run.startedAt} now={now} /> },
  { title: "Duration", isNumber: true, cell: ({ run }) => formatDuration(runSeconds(run, now)) },
  { title: "Count", cell: ({ run }) => <RunCount run={run} />, isNumber: true },
  { title: "Reason", value: ({ run: { reason } }) => reason && truncate(reason, reasonLength), class: "reason" },
];

function Outcome({ row: { run, earlier, mayHaveMore } }: { readonly row: RunRow }) {
  const oldest = earlier.at(-1);
  if (oldest === undefined) return <RunBadge run={run} />;
  return (
    <>
      <RunBadge run={run} /> {formatNumber(earlier.length + 1)} times since <Instant at={oldest.startedAt} />
      {mayHaveMore ? " or earlier" : ""}
      <details>
        <summary>Earlier runs</summary>
        <CommaSeparated items={earlier.map(({ id }) => <a href={`/runs/${id}`}>{id}</a>)} />
      </details>
    </>
  );
}

const NoRuns = ({ hasAny }: { readonly hasAny: boolean }) =>
  hasAny ? (
    <NoMatch things="runs" url="/runs" />
  ) : (
    <EmptyState title="No jobs have run yet.">
      <p>
        Scheduled jobs start on their own. To run one now, use <code>pds run JOB</code>; to import a file, use{" "}
        <code>pds import</code>.
      </p>
    </EmptyState>
  );
