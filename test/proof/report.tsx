/** @jsxImportSource hono/jsx */
import type { Problem, Second } from "./shoppers.ts";
import { schedules, type TickRun } from "./ticks.ts";

/** A fault and its consequences. Times are in milliseconds after the beginning. */
export interface Step {
  readonly name: string;
  readonly isWithoutDatabase: boolean;
  readonly fromMs: number;
  /** When it was repaired. */
  readonly repairedMs: number;
  /** When every part had all the others again. */
  readonly wholeMs: number;
}

export interface Proof {
  readonly startedAt: string;
  readonly command: string;
  readonly machine: string;
  /** What the parts are, with their versions. */
  readonly parts: readonly string[];
  readonly seconds: readonly Second[];
  readonly steps: readonly Step[];
  readonly failures: readonly Problem[];
  /** Requests that got 503 with `Retry-After` while no replica could reach the database. */
  readonly refused: readonly Problem[];
  readonly old: readonly Problem[];
  readonly mixed: readonly Problem[];
  /** Responses with another status, or with other content than that of any version. */
  readonly incorrect: readonly Problem[];
  /** Responses of replicas with 503, most of which a retry hid from shoppers. */
  readonly hidden: number;
  /** Responses of replicas with any other status of a failure, whether shoppers saw them or not. */
  readonly defects: number;
  readonly runs: readonly TickRun[];
  readonly lostTicks: readonly string[];
  readonly ticks: number;
  /** Of all products and SKUs, at each edge and each replica: responses that differ from the source at the end. */
  readonly wrong: readonly string[];
  readonly compared: number;
  readonly edits: number;
  /** Requests that a second edge or balancer answered. */
  readonly repeated: number;
  /** Share of the requests at the edges that their caches answered. */
  readonly hitRatio: number;
}

const width = 1160;
const left = 70;
const plotWidth = width - left - 10;
const number = new Intl.NumberFormat("en-US");
const clock = (ms: number) => `${Math.floor(ms / 60_000)}:${`${Math.floor((ms % 60_000) / 1000)}`.padStart(2, "0")}`;

/** The problems of each step; the last item has those outside of all steps. */
function groupByStep(problems: readonly Problem[], steps: readonly Step[]): Problem[][] {
  const groups: Problem[][] = Array.from({ length: steps.length + 1 }, () => []);
  for (const problem of problems) {
    // What a step causes may be seen until the next one begins.
    const index = steps.findLastIndex(({ fromMs }) => problem.atMs >= fromMs);
    groups[index < 0 ? steps.length : index]?.push(problem);
  }
  return groups;
}

/** A page with timelines, without script. */
export function renderReport(proof: Proof): string {
  return `<!DOCTYPE html>\n${(<Page {...proof} />).toString()}\n`;
}

const Page = (proof: Proof) => {
  const { seconds, steps, failures, refused, old, mixed, incorrect, lostTicks, wrong } = proof;
  const requests = seconds.reduce((sum, second) => sum + second.requests, 0);
  const failed = groupByStep(failures, steps);
  const stale = groupByStep(old, steps);
  const excused = groupByStep(refused, steps);
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Proof: a fleet through every fault</title>
        <style>{style}</style>
      </head>
      <body>
        <main>
          <h1>A fleet through every fault</h1>
          <p>
            {proof.startedAt}, {clock(seconds.length * 1000)} minutes, <code>{proof.command}</code>. {proof.machine}.{" "}
            {number.format(refused.length)} requests were refused, with 503 and <code>Retry-After</code>, while no
            replica could reach the database; the table says during which fault. They are counted nowhere else.
          </p>
          <ul class="totals">
            <Total count={failures.length} what={`of ${number.format(requests)} requests failed`} />
            <Total count={old.length} what="responses older than a second without Age" />
            <Total count={lostTicks.length} what={`of ${proof.ticks} scheduled times lost`} />
            <Total count={mixed.length} what="responses of two versions" />
            <Total count={incorrect.length} what="incorrect responses" />
            <Total count={proof.defects} what="responses of replicas with a failure other than 503" />
            <Total
              count={wrong.length}
              what={`of ${number.format(proof.compared)} responses for every product and SKU wrong at the end`}
            />
          </ul>
          <Timeline {...proof} />
          <p>
            Red bands are faults, with their numbers in the table. Of the requests, yellow ones got a response with an
            Age, red ones failed or got an old response without one.
          </p>
          <h2>Faults, one after the other</h2>
          <div class="wide">
            <table>
              <thead>
                <tr>
                  <th scope="col">#</th>
                  <th scope="col">fault</th>
                  <th scope="col">at</th>
                  <th scope="col">lasted</th>
                  <th scope="col">whole after</th>
                  <th scope="col">requests</th>
                  <th scope="col">failed</th>
                  <th scope="col">refused</th>
                  <th scope="col">old without Age</th>
                  <th scope="col">with Age</th>
                  <th scope="col">longest</th>
                </tr>
              </thead>
              <tbody>
                {steps.map((step, index) => {
                  const untilMs = steps[index + 1]?.fromMs ?? seconds.length * 1000;
                  const during = seconds.slice(Math.floor(step.fromMs / 1000), Math.ceil(untilMs / 1000));
                  const sum = (key: "requests" | "aged") => during.reduce((total, second) => total + second[key], 0);
                  return (
                    <tr>
                      <td>{index + 1}</td>
                      <th scope="row">{step.name}</th>
                      <td>{clock(step.fromMs)}</td>
                      <td>{((step.repairedMs - step.fromMs) / 1000).toFixed(1)} s</td>
                      <td>{((step.wholeMs - step.repairedMs) / 1000).toFixed(1)} s</td>
                      <td>{number.format(sum("requests"))}</td>
                      <td class={failed[index]?.length ? "bad" : ""}>{failed[index]?.length}</td>
                      <td>{number.format(excused[index]?.length ?? 0)}</td>
                      <td class={stale[index]?.length ? "bad" : ""}>{stale[index]?.length}</td>
                      <td>{number.format(sum("aged"))}</td>
                      <td>{(Math.max(0, ...during.map(({ longestMs }) => longestMs)) / 1000).toFixed(1)} s</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
          <p>
            Between the faults: {failed.at(-1)?.length} failed, {stale.at(-1)?.length} old without Age. "Lasted" is the
            time until the fault was repaired, "whole after" the time from then until every part had all the others
            again. "Longest" is the longest time that a successful request took.
          </p>
          <Runs {...proof} />
          <h2>Parts</h2>
          <ul>
            {proof.parts.map((part) => (
              <li>{part}</li>
            ))}
          </ul>
          <p>
            {number.format(proof.edits)} products were edited on the platform, and the feed changed every{" "}
            {schedules["personalization-import"]} seconds. The edges' caches answered{" "}
            {(proof.hitRatio * 100).toFixed(0)} % of the requests there. A client whose edge or balancer gives no answer
            asks the other one, as anycast, DNS, and HTTP clients do: {proof.repeated} requests. Replicas answered with
            503 {number.format(proof.hidden)} times, in whose place balancers and edges asked another one. One request
            in five goes to a balancer directly. A response is old if the store held another version for more than a
            second before the request.
          </p>
        </main>
      </body>
    </html>
  );
};

const Total = ({ count, what }: { count: number; what: string }) => (
  <li class={count === 0 ? "good" : "bad"}>
    <strong>{number.format(count)}</strong> {what}
  </li>
);

const Runs = ({ runs }: Proof) => {
  const ended = runs.filter(({ outcome }) => outcome !== null && outcome !== "succeeded");
  return (
    <>
      <h2>Runs</h2>
      <p>
        {runs.length} runs of {Object.keys(schedules).length} jobs, of which {ended.length} did not succeed.
      </p>
      {ended.length > 0 && (
        <ul>
          {ended.map(({ job, scheduledAt, attempt, outcome, reason }) => (
            <li>
              {job} of {scheduledAt}, attempt {attempt}: {outcome}, {reason}
            </li>
          ))}
        </ul>
      )}
    </>
  );
};

const charts = { top: 34, height: 120 } as const;

const Timeline = ({ seconds, steps, failures, old }: Proof) => {
  const totalMs = seconds.length * 1000;
  const x = (ms: number) => left + (Math.max(0, Math.min(ms, totalMs)) / totalMs) * plotWidth;
  const height = charts.top + charts.height + 30;
  const mostRequests = Math.max(1, ...seconds.map(({ requests }) => requests));
  const bar = (count: number) => (count / mostRequests) * charts.height;
  const barWidth = plotWidth / seconds.length;
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`Timeline: ${failures.length} failed requests and ${old.length} old responses during ${steps.length} faults. The table below has the same numbers.`}
    >
      {steps.map(({ name, fromMs, repairedMs, wholeMs }, index) => (
        <g>
          <title>{`${index + 1}: ${name}`}</title>
          <rect
            class="broken"
            x={x(fromMs)}
            y={charts.top - 16}
            width={x(repairedMs) - x(fromMs)}
            height={height - charts.top}
          />
          <rect
            class="healing"
            x={x(repairedMs)}
            y={charts.top - 16}
            width={x(wholeMs) - x(repairedMs)}
            height={height - charts.top}
          />
          <text class="step" x={x(fromMs) + 1} y={charts.top - 20}>
            {index + 1}
          </text>
        </g>
      ))}
      <text x="4" y={charts.top + 12}>
        requests/s
      </text>
      {seconds.map((second, index) => {
        const at = left + index * barWidth;
        const base = charts.top + charts.height;
        return (
          <>
            <rect class="fresh" x={at} y={base - bar(second.requests)} width={barWidth} height={bar(second.requests)} />
            <rect class="aged" x={at} y={base - bar(second.aged)} width={barWidth} height={bar(second.aged)} />
            {second.failed + second.old > 0 && (
              <rect
                class="failed"
                x={at}
                y={base - Math.max(4, bar(second.failed + second.old))}
                width={Math.max(2, barWidth)}
                height={Math.max(4, bar(second.failed + second.old))}
              />
            )}
          </>
        );
      })}
      {Array.from({ length: Math.floor(seconds.length / 60) + 1 }, (_, minute) => (
        <text class="scale" x={x(minute * 60_000) + 12} y={height - 4}>
          {minute}:00
        </text>
      ))}
    </svg>
  );
};

const style = `
:root { color-scheme: light dark; --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --good: #116329; --bad: #b3261e;
  --fresh: #54aeff; --aged: #d4a72c; --broken: #ff818233; --healing: #d4a72c33; --back: #fff; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --good: #3fb950;
  --bad: #ff7b72; --fresh: #316dca; --aged: #bb8009; --broken: #f8514944; --healing: #bb800944; --back: #0d1117; } }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 1rem; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.2rem; } h3 { margin: 1rem 0 0; font-size: 1rem; }
.totals { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; list-style: none; }
.totals li { flex: 1 1 10rem; padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: 6px; }
.totals strong { display: block; font-size: 2rem; line-height: 1.1; }
.totals .good strong { color: var(--good); } .totals .bad strong { color: var(--bad); }
svg { width: 100%; height: auto; } svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
svg .scale { fill: var(--soft); text-anchor: end; } svg .step { font-weight: 600; }
.fresh { fill: var(--fresh); } .aged { fill: var(--aged); } .failed { fill: var(--bad); }
.broken { fill: var(--broken); } .healing { fill: var(--healing); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; }
thead th { color: var(--soft); font-weight: 600; } tbody th { font-weight: 400; } th:nth-child(2) { text-align: left; }
td.bad { color: var(--bad); font-weight: 700; }
li { overflow-wrap: anywhere; }
`;
