/** @jsxImportSource hono/jsx */
import { readNow } from "../database/database.ts";
import {
  listRunKinds,
  listRunsBefore,
  type RunFilter,
  type RunKind,
  type Standing as StandingName,
} from "../database/run.ts";
import type { Run } from "../job.ts";
import type { ConsoleContext } from "./context.ts";
import { duration, exact, number } from "./format.ts";
import { Layout } from "./layout.tsx";
import { addressOf, asked, type PageRequest, type Render, toPage } from "./page.ts";
import { Empty, RunLink, Standing, Table, Time } from "./parts.tsx";

const runsPerPage = 50;

const standings: readonly StandingName[] = ["succeeded", "failed", "abandoned", "running"];

/** `GET /runs`: the runs of the jobs, the newest first, page by page. */
export function runsPage({ database }: ConsoleContext): Render {
  return async (request) => {
    const filter = filterOf(request);
    const kinds = await listRunKinds(database);
    // One more, to know whether there is another page.
    const found = await listRunsBefore(database, kinds, filter, runsPerPage + 1);
    const now = Date.parse(await readNow(database));
    const runs = found.slice(0, runsPerPage);
    const older = found.length > runsPerPage ? runs.at(-1)?.id : undefined;
    return toPage(
      <Layout title="Runs" section="/runs">
        <Filter kinds={kinds} filter={filter} />
        {runs.length === 0 ? <NoRuns isFiltered={kinds.length > 0} /> : <Runs runs={runs} now={now} />}
        <Pages filter={filter} older={older} />
      </Layout>,
    );
  };
}

function filterOf(request: PageRequest): RunFilter {
  const before = Number(asked(request, "before"));
  return {
    job: asked(request, "job"),
    brand: asked(request, "brand"),
    standing: standings.find((standing) => standing === asked(request, "outcome")),
    before: Number.isSafeInteger(before) && before > 0 ? Math.min(before, 2 ** 31 - 1) : undefined,
  };
}

function Filter({ kinds, filter }: { readonly kinds: readonly RunKind[]; readonly filter: RunFilter }) {
  const namesOf = (of: (kind: RunKind) => string) => [...new Set(kinds.map(of))].sort();
  return (
    <form class="filter" action="/runs">
      <Select name="job" label="Job" all="All jobs" values={namesOf(({ job }) => job)} chosen={filter.job} />
      <Select
        name="brand"
        label="Brand"
        all="All brands"
        values={namesOf(({ brand }) => brand)}
        chosen={filter.brand}
      />
      <Select name="outcome" label="Outcome" all="All outcomes" values={standings} chosen={filter.standing} />
      <button type="submit">Show</button>
    </form>
  );
}

interface SelectProps {
  readonly name: string;
  readonly label: string;
  readonly all: string;
  readonly values: readonly string[];
  readonly chosen: string | undefined;
}

/** A value that is asked for stays to be seen, though nothing has it. */
function Select({ name, label, all, values, chosen }: SelectProps) {
  const shown = chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
  return (
    <label>
      <span>{label}</span>
      <select name={name}>
        <option value="">{all}</option>
        {shown.map((value) => (
          <option value={value} selected={value === chosen}>
            {value}
          </option>
        ))}
      </select>
    </label>
  );
}

function Runs({ runs, now }: { readonly runs: readonly Run[]; readonly now: number }) {
  return (
    <Table head={["Run", "Outcome", "Job", "Brand", "Began", "Took", "Counts", "Why"]} label="Runs, the newest first">
      {runs.map((run) => (
        <tr>
          <th scope="row" class="number">
            <RunLink id={run.id} />
          </th>
          <td>
            <Standing run={run} />
          </td>
          <td class="fixed">{run.job}</td>
          <td>{run.brand}</td>
          <td>
            <Time at={run.startedAt} now={now} />
            <div class="quiet exact">{exact(run.startedAt)}</div>
          </td>
          <td class="number">
            {duration((run.finishedAt === null ? now : Date.parse(run.finishedAt)) - Date.parse(run.startedAt))}
          </td>
          <td class="number">{number(run.counts)}</td>
          <td class="reason">{run.reason === null ? "" : firstWords(run.reason)}</td>
        </tr>
      ))}
    </Table>
  );
}

const firstWords = (text: string) => (text.length > 160 ? `${text.slice(0, 160)}…` : text);

function Pages({ filter, older }: { readonly filter: RunFilter; readonly older: number | undefined }) {
  const { job, brand, standing: outcome, before } = filter;
  if (before === undefined && older === undefined) return "";
  return (
    <nav class="pages" aria-label="Pages">
      {before === undefined ? "" : <a href={addressOf("/runs", { job, brand, outcome })}>Newest runs</a>}
      {older === undefined ? "" : <a href={addressOf("/runs", { job, brand, outcome, before: older })}>Older runs</a>}
    </nav>
  );
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No run is like that.">
      <p>
        Choose less, or see <a href="/runs">all runs</a>.
      </p>
    </Empty>
  ) : (
    <Empty title="No job has run yet.">
      <p>
        A job with a schedule runs by itself; <code>pds run JOB</code> runs one now, and <code>pds import</code> takes a
        file by hand.
      </p>
    </Empty>
  );
}
