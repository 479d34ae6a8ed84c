/** @jsxImportSource hono/jsx */
import { readNow } from "../database/database.ts";
import { findReport, findRun } from "../database/run.ts";
import type { Difference, ImportReport, PersonalizationReport, Rejection, Run, Sighting } from "../job.ts";
import type { ConsoleContext } from "./context.ts";
import { counted, duration, number } from "./format.ts";
import { Layout } from "./layout.tsx";
import { addressOf, type Render, toPage } from "./page.ts";
import { Empty, Facts, FullTime, Raw, Standing, Table } from "./parts.tsx";

/** `GET /runs/:id`: one run, with what it found. */
export function runPage({ database }: ConsoleContext): Render {
  return async ({ parameter }) => {
    const id = /^[1-9]\d{0,8}$/.test(parameter("id")) ? Number(parameter("id")) : undefined;
    const run = id === undefined ? undefined : await findRun(database, id);
    if (run === undefined) return undefined;
    const report = await findReport(database, run.id);
    const now = Date.parse(await readNow(database));
    return toPage(
      <Layout title={`Run ${run.id}: ${run.job}`} section="/runs">
        <RunFacts run={run} now={now} />
        {run.reason === null ? "" : <Reason run={run} reason={run.reason} />}
        {report === undefined ? <NoReport run={run} /> : <Report report={report} />}
        {run.log === null ? "" : <Log log={run.log} />}
        <p>
          <a href={addressOf("/runs", { job: run.job, brand: run.brand })}>
            All runs of {run.job} for {run.brand}
          </a>
        </p>
      </Layout>,
    );
  };
}

function RunFacts({ run, now }: { readonly run: Run; readonly now: number }) {
  const endMs = run.finishedAt === null ? now : Date.parse(run.finishedAt);
  return (
    <Facts
      facts={[
        ["Outcome", <Standing run={run} />],
        ["Brand", run.brand],
        ["Counted", number(run.counts)],
        ["Began", <FullTime at={run.startedAt} now={now} />],
        ["Ended", run.finishedAt === null ? "under way" : <FullTime at={run.finishedAt} now={now} />],
        ["Took", duration(endMs - Date.parse(run.startedAt))],
        [
          "Scheduled for",
          run.scheduledAt === null ? "nothing: it was started by hand" : <FullTime at={run.scheduledAt} now={now} />,
        ],
        ["Attempt", number(run.attempt)],
      ]}
    />
  );
}

const Reason = ({ run, reason }: { readonly run: Run; readonly reason: string }) => (
  <section class="attention" aria-labelledby="reason">
    <h2 id="reason">Why it {run.outcome === "abandoned" ? "was abandoned" : "did not succeed"}</h2>
    <p class="long">{reason}</p>
  </section>
);

const NoReport = ({ run }: { readonly run: Run }) => (
  <Empty title="There is no report.">
    <p>
      {run.finishedAt === null
        ? "It is made when the run ends."
        : "The run ended before it could write one, or is older than reports."}
    </p>
  </Empty>
);

function Report({ report }: { readonly report: ImportReport }) {
  const { accepted, duplicates, rejected, rejections, notes, overridden, personalization } = report;
  return (
    <>
      <section aria-labelledby="report">
        <h2 id="report">Report</h2>
        <Facts
          facts={[
            ["Accepted", number(accepted)],
            ["Duplicates", number(duplicates)],
            ["Rejected", number(rejected)],
          ]}
        />
      </section>
      {rejections.length === 0 ? "" : <Rejections rejections={rejections} />}
      {personalization === undefined ? "" : <PersonalizationFindings report={personalization} />}
      <Texts id="overridden" title="Taken in spite of" texts={overridden} />
      <Texts id="notes" title="Notes" texts={notes} />
    </>
  );
}

function Rejections({ rejections }: { readonly rejections: readonly Rejection[] }) {
  return (
    <section aria-labelledby="rejections">
      <h2 id="rejections">Rejected rows</h2>
      <Table head={["Rows", "Reason", "First of them"]} label="Rejected rows by reason">
        {rejections.map(({ field, reason, rows, examples }) => (
          <tr>
            <td class="number">{number(rows)}</td>
            <th scope="row" class="reason">
              {field === undefined ? "" : <code>{field}: </code>}
              {reason}
            </th>
            <td>
              <ul class="plain">
                {examples.map(({ file, line, text }) => (
                  <li>
                    <code>
                      {file}:{line}
                    </code>{" "}
                    {text === undefined ? "" : <span class="quiet excerpt">{text}</span>}
                  </li>
                ))}
              </ul>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

function PersonalizationFindings({ report }: { readonly report: PersonalizationReport }) {
  const { files, skus, styles, choices, orphans, nonNumericSequences, statuses } = report;
  const sightings = [
    ["Lines whose style is missing", orphans.linesWithoutStyle],
    ["Styles that no line offers", orphans.stylesWithoutLine],
    ["Choice groups that no style uses", orphans.unusedChoiceGroups],
    ["Sequences that are not numbers", nonNumericSequences],
  ] as const;
  return (
    <>
      <Differences differences={{ SKUs: skus, Styles: styles, Choices: choices }} />
      <section aria-labelledby="orphans">
        <h2 id="orphans">Orphans and oddities</h2>
        <Table head={["Count", "What", "First of them"]} label="Orphans and oddities">
          {sightings.map(([what, sighting]) => (
            <SightingRow what={what} sighting={sighting} />
          ))}
        </Table>
      </section>
      <section aria-labelledby="statuses">
        <h2 id="statuses">Status codes</h2>
        <Table head={["Column", "Code", "Rows"]} label="Status codes">
          {Object.entries(statuses).flatMap(([column, codes]) =>
            Object.entries(codes).map(([code, rows]) => (
              <tr>
                <th scope="row">
                  <code>{column}</code>
                </th>
                <td>{code === "" ? <span class="quiet">empty</span> : code}</td>
                <td class="number">{number(rows)}</td>
              </tr>
            )),
          )}
        </Table>
      </section>
      <section aria-labelledby="files">
        <h2 id="files">Files</h2>
        <Table head={["File", "Rows", "Encoding", "Separator", "SHA-256"]} label="Files">
          {files.map(({ file, rows, encoding, separator, sha256 }) => (
            <tr>
              <th scope="row">{file}</th>
              <td class="number">{number(rows)}</td>
              <td>{encoding}</td>
              <td>{separator === null ? "none" : <code>{JSON.stringify(separator)}</code>}</td>
              <td>
                <code title={sha256}>{sha256.slice(0, 12)}…</code>
              </td>
            </tr>
          ))}
        </Table>
      </section>
    </>
  );
}

function Differences({ differences }: { readonly differences: Readonly<Record<string, Difference | null>> }) {
  const known = Object.entries(differences).flatMap(([name, difference]) =>
    difference === null ? [] : [[name, difference] as const],
  );
  return (
    <section aria-labelledby="differences">
      <h2 id="differences">What it changed</h2>
      {known.length === 0 ? (
        <p>There was nothing to compare with: it was the brand's first generation.</p>
      ) : (
        <Table head={["Of", "Total", "Added", "Changed", "Removed"]} label="What it changed">
          {known.map(([name, { total, added, changed, removed }]) => (
            <tr>
              <th scope="row">{name}</th>
              {[total, added, changed, removed].map((count) => (
                <td class="number">{number(count)}</td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

function SightingRow({ what, sighting }: { readonly what: string; readonly sighting: Sighting }) {
  return (
    <tr>
      <td class="number">{number(sighting.count)}</td>
      <th scope="row">{what}</th>
      <td class="excerpt">{sighting.examples.join(", ")}</td>
    </tr>
  );
}

function Texts({
  id,
  title,
  texts,
}: {
  readonly id: string;
  readonly title: string;
  readonly texts: readonly string[];
}) {
  if (texts.length === 0) return "";
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul>
        {texts.map((text) => (
          <li class="long">{text}</li>
        ))}
      </ul>
    </section>
  );
}

function Log({ log }: { readonly log: string }) {
  const lines = log.split("\n").filter((line) => line !== "").length;
  return (
    <section aria-labelledby="log">
      <h2 id="log">Last {counted(lines, "line")} of its process</h2>
      <Raw label="The last lines of its process" text={log} />
    </section>
  );
}
