/** @jsxImportSource hono/jsx */
import { formatNumber, relativeTime } from "../../base/format.ts";
import { readNow } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import type { DifferingNames, NamesDifference } from "../../personalization/comparison.ts";
import { type Generation, listGenerations } from "../../personalization/generation.ts";
import { CommaSeparated, EmptyState, Section } from "../components/elements.tsx";
import { Select } from "../components/fields.tsx";
import { type Column, Table } from "../components/table.tsx";
import { type ConsoleContext, type PageContent, selectBrand } from "../context.ts";
import { unlessRemoved } from "../order-mark.ts";
import { queryParameter, urlOf, urlWithQuery } from "../urls.ts";
import { type Item, type ItemKind, itemOf, noItem, readChanges, type ValueChange } from "../value-changes.ts";

/**
 * `GET /personalization/difference?brand=&from=&to=&sku=|style=|group=`: the changes between two
 * generations of a brand, and the values of one that changed.
 */
export async function comparisonPage(context: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const { database } = context;
  const all = await listGenerations(database);
  const brand = selectBrand(context, request, all);
  const generations = all.filter((generation) => generation.brand === brand);
  const [from, to] = selectPair(request, generations);
  const now = Date.parse(await readNow(database));
  const options = generations.map(({ id, loadedAt, isCurrent }) => ({
    value: `${id}`,
    text: `${id}, loaded ${relativeTime(Date.parse(loadedAt), now)}${isCurrent ? ", current" : ""}`,
  }));
  return {
    title: `Generations of ${brand}`,
    body: (
      <>
        {generations.length < 2 ? (
          <EmptyState title="There is no earlier generation to compare with.">
            <p>
              Imports keep a brand's earlier generations. The <code>keep_generations</code> setting limits how many.
            </p>
          </EmptyState>
        ) : (
          <form class="filter" action="/personalization/difference">
            <input type="hidden" name="brand" value={brand} />
            <Select name="from" label="From" options={options} selected={from && `${from.id}`} />
            <Select name="to" label="To" options={options} selected={to && `${to.id}`} />
            <button type="submit" class="primary">
              Compare
            </button>
          </form>
        )}
        {from !== undefined &&
          to !== undefined &&
          from !== to &&
          (await compare(context, { request, brand, from: from.id, to: to.id }))}
      </>
    ),
  };
}

type Pair = readonly [from: Generation | undefined, to: Generation | undefined];

/** The requested generations; by default the current one and the newest that is older. */
function selectPair(request: PageRequest, generations: readonly Generation[]): Pair {
  const requested = (name: string) => generations.find(({ id }) => `${id}` === queryParameter(request, name));
  const to = requested("to") ?? generations.find(({ isCurrent }) => isCurrent);
  return [requested("from") ?? generations.find(({ id }) => to !== undefined && id < to.id), to];
}

/** Two generations of a brand. */
interface Comparison {
  readonly request: PageRequest;
  readonly brand: string;
  readonly from: number;
  readonly to: number;
}

async function compare(context: ConsoleContext, comparison: Comparison) {
  const { request, from, to } = comparison;
  const ifStored = unlessRemoved(context.database);
  const difference = await context.compare(from, to).catch(ifStored);
  if (difference === undefined) {
    return (
      <EmptyState title="One of these generations has just been removed.">
        <p>Load the page again to see which are stored.</p>
      </EmptyState>
    );
  }
  const item = itemOf(request);
  const changes = item && (await readChanges(context, item, from, to).catch(ifStored));
  return (
    <>
      {item && changes && <ChangedValues {...comparison} item={item} changes={changes} />}
      <Difference {...comparison} kind="sku" difference={difference.skus} />
      <Difference {...comparison} kind="style" difference={difference.styles} />
      <Difference {...comparison} kind="group" difference={difference.groups} />
    </>
  );
}

/** The names of each kind: of one, of its rows, and of all. */
const nouns = {
  sku: { one: "SKU", row: "Style", all: "SKUs", id: "skus" },
  style: { one: "Style", row: "Line", all: "Styles", id: "styles" },
  group: { one: "Choice group", row: "Choice", all: "Choice groups", id: "choice-groups" },
} as const;

type ChangedValuesProps = Comparison & { readonly item: Item; readonly changes: readonly ValueChange[] };

function ChangedValues({ item: { kind, name }, changes, brand, from, to }: ChangedValuesProps) {
  const columns: readonly Column<ValueChange>[] = [
    { title: nouns[kind].row, value: ({ row }) => row },
    { title: "Field", cell: ({ field }) => <code>{field}</code> },
    { title: `Before, in ${from}`, cell: ({ before }) => <Value value={before} />, class: "break-anywhere" },
    { title: `After, in ${to}`, cell: ({ after }) => <Value value={after} />, class: "break-anywhere" },
  ];
  return (
    <Section id="values" title={`${nouns[kind].one} ${name}: old and new values`}>
      <Table columns={columns} rows={changes} label={`Changed values of ${name}`}>
        <EmptyState title={`The values of ${name} are the same in both generations.`} />
      </Table>
      <p>
        <a href={urlWithQuery("/personalization", { [kind]: name, brand })}>Look up {name}</a>
      </p>
    </Section>
  );
}

const Value = ({ value }: { readonly value: string | null }) =>
  value || <span class="muted">{value === null ? "none" : "empty"}</span>;

type DifferenceProps = Comparison & { readonly kind: ItemKind; readonly difference: NamesDifference };

function Difference({ kind, difference, request, brand }: DifferenceProps) {
  /** Links changed names to their values, and added ones to the lookup. */
  const linkTo = (name: string, change: string) => {
    if (change === "removed") return name;
    const values = `${urlOf(request, { ...noItem, [kind]: name })}#values`;
    return (
      <a href={change === "changed" ? values : urlWithQuery("/personalization", { [kind]: name, brand })}>{name}</a>
    );
  };
  const changes = Object.entries(difference) as [string, DifferingNames][];
  return (
    <Section id={nouns[kind].id} title={nouns[kind].all}>
      {changes.every(([, { count }]) => count === 0) ? (
        <p class="muted">No differences.</p>
      ) : (
        <dl class="differences">
          {changes.map(([change, { count, first }]) => (
            <div>
              <dt>
                {formatNumber(count)} {change}
              </dt>
              <dd>
                <CommaSeparated items={first.map((name) => linkTo(name, change))} />
                {count > first.length ? `, and ${formatNumber(count - first.length)} more` : ""}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  );
}
