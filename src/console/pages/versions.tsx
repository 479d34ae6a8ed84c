/** @jsxImportSource hono/jsx */
import { formatNumber } from "../../base/format.ts";
import { type Database, readNow } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import type { Difference } from "../../jobs/import-report.ts";
import { findLoadAt } from "../../jobs/run-list.ts";
import { findReport } from "../../jobs/runs.ts";
import { type Generation, listGenerations } from "../../personalization/generation.ts";
import { listPresentations } from "../../personalization/presentation/store.ts";
import { generations, presentations, type VersionKind } from "../../personalization/versions.ts";
import { ActionLink, mayOperate } from "../components/actions.tsx";
import { CommaSeparated, EmptyState, Section, StackedTime } from "../components/elements.tsx";
import { type Column, Table } from "../components/table.tsx";
import { type ConsoleContext, type PageContent, selectBrand } from "../context.ts";
import { urlWithQuery } from "../urls.ts";

/** `GET /personalization/versions?brand=`: the stored versions of a brand, to compare and to roll back to. */
export async function versionsPage(context: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const { database } = context;
  const all = await listGenerations(database);
  const brand = selectBrand(context, request, all);
  const stored = all.filter((generation) => generation.brand === brand);
  const named = await listPresentations(database, brand);
  const shared = { brand, mayAct: mayOperate(request), now: Date.parse(await readNow(database)) };
  return {
    title: `Versions of ${brand}`,
    body:
      stored.length + named.length === 0 ? (
        <UnknownBrand brand={brand} stored={all} />
      ) : (
        <>
          <Section id="generations" title="Generations of the feed">
            <Versions
              {...shared}
              kind={generations}
              versions={await Promise.all(stored.map((each) => addLoad(database, generations, brand, each, each.skus)))}
              contents="SKUs"
              action="rollback"
            />
          </Section>
          <Section id="presentations" title="Presentations">
            <Versions
              {...shared}
              kind={presentations}
              versions={
                await Promise.all(named.map((each) => addLoad(database, presentations, brand, each, each.entries)))
              }
              contents="Entries"
              action="rollback-presentation"
            />
          </Section>
        </>
      ),
  };
}

const UnknownBrand = ({ brand, stored }: { readonly brand: string; readonly stored: readonly Generation[] }) => (
  <EmptyState title={`Nothing of ${brand} is stored.`}>
    {stored.length !== 0 && (
      <p>
        Stored brands:{" "}
        <CommaSeparated
          items={[...new Set(stored.map((each) => each.brand))].map((name) => (
            <a href={urlWithQuery("/personalization/versions", { brand: name })}>{name}</a>
          ))}
        />
      </p>
    )}
  </EmptyState>
);

type LoadedVersion = Awaited<ReturnType<typeof addLoad>>;

async function addLoad(
  database: Database,
  { job }: VersionKind,
  brand: string,
  { id, loadedAt, isCurrent }: Pick<Generation, "id" | "loadedAt" | "isCurrent">,
  size: number,
) {
  const run = await findLoadAt(database, { job, brand }, loadedAt);
  const report = run && (await findReport(database, run.id));
  // Absent if nothing was stored before.
  const difference = report?.personalization?.skus ?? report?.presentation?.entries;
  return { id, loadedAt, isCurrent, size, run, difference };
}

interface VersionsProps {
  readonly kind: VersionKind;
  readonly versions: readonly LoadedVersion[];
  readonly brand: string;
  /** The title of the column with the sizes. */
  readonly contents: string;
  /** The action that makes a version current. */
  readonly action: string;
  readonly mayAct: boolean;
  readonly now: number;
}

function Versions({ kind: { noun }, versions, brand, contents, action, mayAct, now }: VersionsProps) {
  const current = versions.find(({ isCurrent }) => isCurrent)?.id;
  if (current === undefined) return <EmptyState title={`No ${noun} of ${brand} is stored.`} />;
  const actions: Column<LoadedVersion> = {
    title: "Action",
    cell: ({ id, isCurrent }) =>
      !isCurrent && (
        <ActionLink action={action} fields={{ brand, to: id }} of={`of ${brand}`}>
          {id < current ? "Roll back to" : "Return to"} {noun} {id}
        </ActionLink>
      ),
  };
  const comparisons: Column<LoadedVersion> = {
    title: "Difference",
    cell: ({ id }) =>
      id !== current && (
        <a href={urlWithQuery("/personalization/difference", { brand, from: current, to: id })}>
          Compare<span class="visually-hidden"> {id}</span> with {current}
        </a>
      ),
  };
  const columns: readonly Column<LoadedVersion>[] = [
    {
      title: "Version",
      cell: ({ id, isCurrent }) => (
        <>
          {id} {isCurrent && <strong>current</strong>}
        </>
      ),
    },
    { title: "Loaded", cell: ({ loadedAt }) => <StackedTime at={loadedAt} now={now} /> },
    { title: contents, value: ({ size }) => size, isNumber: true },
    ...(mayAct ? [actions] : []),
    {
      title: "Loaded by",
      cell: ({ run }) =>
        run === undefined ? <span class="muted">unknown</span> : <a href={`/runs/${run.id}`}>Run {run.id}</a>,
    },
    { title: `${contents} changed by that run`, cell: ({ difference }) => difference && describe(difference) },
    ...(noun === "generation" ? [comparisons] : []),
  ];
  return <Table columns={columns} rows={versions} label={`Each ${noun} of ${brand}, newest first`} />;
}

const describe = (difference: Difference) =>
  (["added", "changed", "removed"] as const)
    .map((change) => `${formatNumber(difference[change])} ${change}`)
    .join(", ");
