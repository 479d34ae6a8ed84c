/** @jsxImportSource hono/jsx */
import { readNow } from "../../database/database.ts";
import { listRunKinds, listRunsBefore, type RunFilter, type RunKind } from "../../database/run.ts";
import { truncate, utcTime } from "../../format.ts";
import { type Run, runStatuses } from "../../model/job.ts";
import type { PageRequest } from "../../page.ts";
import { ActionLink, ActionLinks, mayOperate } from "../components/actions.tsx";
import { EmptyState, RunStatus, runDuration, Time } from "../components/elements.tsx";
import { Select } from "../components/select.tsx";
import { NumberCell, numeric, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";
import { queryParameter, urlWithQuery } from "../urls.ts";

const runsPerPage = 50;
const reasonLength = 160;

/** `GET /runs?job=&brand=&outcome=&before=`: runs, newest first, in pages. */
export async function runsPage({ database }: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const filter = filterOf(request);
  const kinds = await listRunKinds(database);
  // One extra run shows whether there is another page.
  const found = await listRunsBefore(database, kinds, filter, runsPerPage + 1);
  const now = Date.parse(await readNow(database));
  const runs = found.slice(0, runsPerPage);
  const before = found.length > runsPerPage ? runs.at(-1)?.id : undefined;
  return {
    body: (
      <>
        <FilterForm kinds={kinds} filter={filter} />
        {mayOperate(request) && runs.some(mayRetry) && !hasOtherFilters(request) ? (
          <RetryMatching filter={filter} />
        ) : (
          ""
        )}
        {runs.length === 0 ? <NoRuns hasAny={kinds.length > 0} /> : <RunTable runs={runs} now={now} />}
        <Pagination filter={filter} before={before} />
      </>
    ),
  };
}

function filterOf(request: PageRequest): RunFilter {
  const before = Number(queryParameter(request, "before"));
  return {
    job: queryParameter(request, "job"),
    brand: queryParameter(request, "brand"),
    standing: runStatuses.find((status) => status === queryParameter(request, "outcome")),
    before: Number.isSafeInteger(before) && before > 0 ? Math.min(before, 2 ** 31 - 1) : undefined,
  };
}

/** The action knows only these. With another one, it would retry more than the page shows. */
const retryFilters = ["job", "brand", "outcome", "before"];

const hasOtherFilters = ({ url }: PageRequest) =>
  [...url.searchParams].some(([name, value]) => value !== "" && !retryFilters.includes(name));

const mayRetry = ({ outcome }: Run) => outcome !== null && outcome !== "succeeded";

const RetryMatching = ({ filter: { job, brand, standing: outcome } }: { readonly filter: RunFilter }) => (
  <ActionLinks>
    <ActionLink action="retry-matching" fields={{ job, brand, outcome }}>
      Retry all that match
    </ActionLink>
  </ActionLinks>
);

interface FilterFormProps {
  readonly kinds: readonly RunKind[];
  readonly filter: RunFilter;
}

function FilterForm({ kinds, filter }: FilterFormProps) {
  const namesOf = (nameOf: (kind: RunKind) => string) => [...new Set(kinds.map(nameOf))].sort();
  const withAll = (text: string, values: readonly string[]) => [{ value: "", text }, ...values];
  return (
    <form class="filter" action="/runs">
      <Select
        name="job"
        label="Job"
        options={withAll(
          "All jobs",
          namesOf(({ job }) => job),
        )}
        selected={filter.job}
      />
      <Select
        name="brand"
        label="Brand"
        options={withAll(
          "All brands",
          namesOf(({ brand }) => brand),
        )}
        selected={filter.brand}
      />
      <Select
        name="outcome"
        label="Outcome"
        options={withAll("All outcomes", runStatuses)}
        selected={filter.standing}
      />
      <button type="submit">Filter</button>
    </form>
  );
}

interface RunTableProps {
  readonly runs: readonly Run[];
  readonly now: number;
}

const RunTable = ({ runs, now }: RunTableProps) => (
  <Table
    columns={[numeric("Run"), "Outcome", "Job", "Brand", "Started", numeric("Duration"), numeric("Count"), "Reason"]}
    label="Runs, newest first"
  >
    {runs.map((run) => (
      <tr>
        <th scope="row" class="number">
          <a href={`/runs/${run.id}`}>{run.id}</a>
        </th>
        <td>
          <RunStatus run={run} />
        </td>
        <td class="nowrap">{run.job}</td>
        <td>{run.brand}</td>
        <td>
          <Time at={run.startedAt} now={now} />
          <div class="muted exact">{utcTime(run.startedAt)}</div>
        </td>
        <td class="number">{runDuration(run, now)}</td>
        <NumberCell value={run.counts} />
        <td class="reason">{run.reason === null ? "" : truncate(run.reason, reasonLength)}</td>
      </tr>
    ))}
  </Table>
);

interface PaginationProps {
  readonly filter: RunFilter;
  /** The last run of this page; undefined on the last page. */
  readonly before: number | undefined;
}

function Pagination({ filter, before }: PaginationProps) {
  const { job, brand, standing: outcome } = filter;
  if (filter.before === undefined && before === undefined) return "";
  return (
    <nav class="pagination" aria-label="Pages">
      {filter.before === undefined ? "" : <a href={urlWithQuery("/runs", { job, brand, outcome })}>Newest runs</a>}
      {before === undefined ? "" : <a href={urlWithQuery("/runs", { job, brand, outcome, before })}>Older runs</a>}
    </nav>
  );
}

const NoRuns = ({ hasAny }: { readonly hasAny: boolean }) =>
  hasAny ? (
    <EmptyState title="No runs match these filters.">
      <p>
        Remove a filter, or show <a href="/runs">all runs</a>.
      </p>
    </EmptyState>
  ) : (
    <EmptyState title="No jobs have run yet.">
      <p>
        Scheduled jobs start on their own. To run one now, use <code>pds run JOB</code>; to import a file, use{" "}
        <code>pds import</code>.
      </p>
    </EmptyState>
  );
