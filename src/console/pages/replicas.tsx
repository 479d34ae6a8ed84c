/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { readNow } from "../../database/database.ts";
import { listReplicas, type Replica } from "../../database/replica.ts";
import { listRunsById } from "../../database/run-list.ts";
import { durationInWords, pluralize } from "../../format.ts";
import type { Run } from "../../model/job.ts";
import type { PageRequest } from "../../page.ts";
import { EmptyState, Instant, Section, Time } from "../components/elements.tsx";
import { type Column, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent, PageContext } from "../context.ts";

/** A replica reports every 15 seconds; an import that locks the store may hold it up. */
const silentS = 60;

async function readReplicas({ database }: ConsoleContext) {
  const [instant, replicas] = await Promise.all([readNow(database), listReplicas(database)]);
  const runs = await listRunsById(
    database,
    replicas.flatMap((each) => each.runs),
  );
  return { now: Date.parse(instant), replicas, runs };
}

/** `GET /replicas`: the processes that serve from this store, and what each does. */
export async function replicasPage(context: PageContext, request: PageRequest): Promise<PageContent> {
  const { now, replicas, runs } = await context.shared.readFor(request, "replicas", () => readReplicas(context));
  return {
    body: (
      <>
        <Section id="replicas" title="Processes that serve from this store" isLive>
          {replicas.length === 0 ? (
            <NoReplicas />
          ) : (
            <Table columns={columnsOf(now, runs, context.replica)} rows={replicas} label="Replicas" />
          )}
          <p class="muted">
            Each replica reports every 15 seconds. One that was killed is listed for an hour. The jobs run in whichever
            replica claims them first; one replica at a time purges the CDN, and one reads delivered changes.
          </p>
        </Section>
      </>
    ),
    scripts: ["/console/refresh.js"],
  };
}

const NoReplicas = () => (
  <EmptyState title="No replica has reported yet.">
    <p>A service reports seconds after it started. Services of older versions do not.</p>
  </EmptyState>
);

const isSilent = ({ seenAt }: Replica, now: number) => now - Date.parse(seenAt) > silentS * 1000;

const columnsOf = (now: number, runs: readonly Run[], own: string | undefined): readonly Column<Replica>[] => [
  {
    title: "Replica",
    cell: ({ id, host, pid }) => (
      <>
        {host}
        <div class="muted">
          process {pid}
          {id === own ? ", which shows this page" : ""}
        </div>
      </>
    ),
    class: "name",
  },
  { title: "Version", value: ({ version }) => version },
  { title: "Started", cell: ({ startedAt }) => <Time at={startedAt} now={now} /> },
  { title: "Workers", cell: ({ workers }) => <Workers workers={workers} /> },
  { title: "Store", cell: (replica) => <Store replica={replica} now={now} /> },
  { title: "Changes seen", cell: (replica) => <Changes replica={replica} /> },
  { title: "Work", cell: (replica) => <Work replica={replica} runs={runs} isSilent={isSilent(replica, now)} /> },
];

function Workers({ workers }: Pick<Replica, "workers">) {
  if (workers === undefined) return <span class="muted">none, it serves itself</span>;
  const { serving, wanted } = workers;
  if (serving >= wanted) return <>{wanted}</>;
  return (
    <strong>
      {serving} of {wanted} serve
    </strong>
  );
}

interface ReplicaProps {
  readonly replica: Replica;
}

function Store({ replica, now }: ReplicaProps & { readonly now: number }) {
  const { seenAt, outage } = replica;
  const endedAt = Date.parse(seenAt) - (outage?.endedAgoS ?? 0) * 1000;
  return (
    <>
      {isSilent(replica, now) ? (
        <>
          <strong>no report</strong> since <Time at={seenAt} now={now} />: it was killed, or cannot reach the store
        </>
      ) : (
        <>
          reachable <Time at={seenAt} now={now} />
        </>
      )}
      {outage === undefined ? (
        ""
      ) : (
        <div class="muted">
          not reachable for {durationInWords(outage.beganAgoS - outage.endedAgoS)} until{" "}
          <Instant at={new Date(endedAt).toISOString()} />
        </div>
      )}
    </>
  );
}

const Changes = ({ replica: { lastChange, behind } }: ReplicaProps) => (
  <>
    up to {lastChange}
    {behind === 0 ? "" : <div class="muted">{pluralize(behind, "change")} behind</div>}
  </>
);

interface WorkProps extends ReplicaProps {
  readonly runs: readonly Run[];
  readonly isSilent: boolean;
}

/** Its current work, then the work that it takes over when there is some. */
function Work({ replica, runs, isSilent }: WorkProps) {
  const { duties, suspension, leases } = replica;
  const running = runs.filter(({ id, finishedAt }) => finishedAt === null && replica.runs.includes(id));
  const now: Child[] = [
    ...running.map(({ id, job, brand }) => (
      <li>
        runs{" "}
        <a href={`/runs/${id}`}>
          {job} for {brand}
        </a>
      </li>
    )),
    ...leases.map((name) => <li>{toWords(name)}</li>),
  ];
  const isReady = !isSilent && duties.length > 0;
  return (
    <>
      {now.length === 0 ? "" : <ul class="plain-list">{now}</ul>}
      {isReady ? <div class="muted">Takes part in {duties.join(", ")}.</div> : ""}
      {now.length === 0 && !isReady ? <span class="muted">only serves</span> : ""}
      {suspension === undefined ? "" : <div class="stale">Starts no further runs: {suspension}</div>}
    </>
  );
}

const toWords = (lease: string) =>
  lease === "push" ? "reads delivered changes" : lease.replace(/^purge (.*)$/, "purges $1");
