/** @jsxImportSource hono/jsx */
import type { Replica } from "../../database/replica.ts";
import type { StandbyState, Unusable } from "../../database/standby.ts";
import { durationInWords, pluralize } from "../../format.ts";
import { Section } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

/** A standby, and what some replicas say of it. */
interface ReportedStandby {
  readonly name: string;
  readonly reports: readonly { readonly replica: Replica; readonly state: StandbyState }[];
}

/** The standbys that replicas read, and why some are not read. */
export function StandbySection({ standbys }: { readonly standbys: readonly ReportedStandby[] }) {
  return (
    <Section id="standbys" title="Standbys that replicas read" isLive>
      <Table columns={columns} rows={standbys} label="Standbys" />
      <p class="muted">
        As of the last report of each replica. A standby that is not read is checked four times a second; meanwhile the
        primary and other standbys answer.
      </p>
    </Section>
  );
}

export function groupByStandby(replicas: readonly Replica[]): ReportedStandby[] {
  const reports = replicas.flatMap((replica) => (replica.standbys ?? []).map((state) => ({ replica, state })));
  const names = [...new Set(reports.map(({ state }) => state.name))].toSorted();
  return names.map((name) => ({ name, reports: reports.filter(({ state }) => state.name === name) }));
}

const columns: readonly Column<ReportedStandby>[] = [
  { title: "Standby", value: ({ name }) => name, class: "name" },
  { title: "Read by", cell: (standby) => <ReadBy standby={standby} /> },
  { title: "Lag", value: lagOf },
  { title: "Problem", cell: (standby) => <Problems standby={standby} /> },
];

interface StandbyProps {
  readonly standby: ReportedStandby;
}

function ReadBy({ standby: { reports } }: StandbyProps) {
  const readers = reports.filter(({ state }) => state.problem === undefined).length;
  const text = `${readers} of ${pluralize(reports.length, "replica")}`;
  if (readers === reports.length) return <>{text}</>;
  return <strong>{text}</strong>;
}

/** The longest that a replica has found. */
function lagOf({ reports }: ReportedStandby): string {
  const behind = Math.max(...reports.map(({ state }) => state.behind));
  if (behind === 0) return "none";
  return `${pluralize(behind, "change")}, ${durationInWords(Math.max(...reports.map(({ state }) => state.behindS)))}`;
}

/** Why it is not read. */
const reasons: Readonly<Record<Unusable, string>> = {
  unreachable: "it does not answer",
  slow: "it takes longer than half a second to answer",
  behind: "it lacks changes",
  unconfirmed: "its last change has not been found at the primary yet",
  "another store": "it has changes that the primary does not have: it was promoted, or belongs to another store",
};

function Problems({ standby: { reports } }: StandbyProps) {
  const found = reports.flatMap(({ replica, state }) => (state.problem ? [{ replica, problem: state.problem }] : []));
  if (found.length === 0) return <span class="muted">none</span>;
  return (
    <ul class="plain-list">
      {found.map(({ replica: { host, pid }, problem }) => (
        <li>
          {reasons[problem]} <span class="muted">({`${host}, process ${pid}`})</span>
        </li>
      ))}
    </ul>
  );
}
