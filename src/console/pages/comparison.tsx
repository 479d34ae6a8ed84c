/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { formatNumber, relativeTime } from "../../base/format.ts";
import { readNow } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import type { DifferingNames, GenerationDifference, NamesDifference } from "../../personalization/comparison.ts";
import { type Generation, listGenerations } from "../../personalization/generation.ts";
import { ChangedValues } from "../components/changed-values.tsx";
import { CommaSeparated, EmptyState, Section } from "../components/elements.tsx";
import { Select } from "../components/fields.tsx";
import { type ConsoleContext, type PageContent, selectBrand } from "../context.ts";
import { unlessRemoved } from "../order-mark.ts";
import { queryParameter, urlOf, urlWithQuery } from "../urls.ts";
import { type ItemKind, itemOf, noItem, readChanges } from "../value-changes.ts";

/**
 * `GET /personalization/difference?brand=&from=&to=&sku=|style=|group=`: the changes between two
 * generations of a brand, and the values of one that changed.
 */
export async function comparisonPage(context: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const { database, compare } = context;
  const all = await listGenerations(database);
  const brand = selectBrand(context, request, all);
  const generations = all.filter((generation) => generation.brand === brand);
  const [from, to] = selectPair(request, generations);
  const now = Date.parse(await readNow(database));
  const item = itemOf(request);
  const isPair = from !== undefined && to !== undefined && from !== to;
  const difference = isPair ? await compare(from.id, to.id).catch(unlessRemoved(database)) : undefined;
  const values =
    difference && isPair && item
      ? await readChanges(context, item, from.id, to.id).catch(unlessRemoved(database))
      : undefined;
  return {
    title: `Generations of ${brand}`,
    body: (
      <>
        {generations.length < 2 ? (
          <NothingToCompare />
        ) : (
          <GenerationForm brand={brand} generations={generations} from={from} to={to} now={now} />
        )}
        {isPair && difference === undefined && <NoLongerStored />}
        {item && values && <ChangedValues item={item} changes={values} brand={brand} from={from?.id} to={to?.id} />}
        {difference && <Differences difference={difference} brand={brand} request={request} />}
      </>
    ),
  };
}

const NoLongerStored = () => (
  <EmptyState title="One of these generations has just been removed.">
    <p>Load the page again to see which are stored.</p>
  </EmptyState>
);

type Pair = readonly [from: Generation | undefined, to: Generation | undefined];

/** The requested generations; by default the current one and the newest that is older. */
function selectPair(request: PageRequest, generations: readonly Generation[]): Pair {
  const requested = (name: string) => generations.find(({ id }) => `${id}` === queryParameter(request, name));
  const to = requested("to") ?? generations.find(({ isCurrent }) => isCurrent);
  return [requested("from") ?? generations.find(({ id }) => to !== undefined && id < to.id), to];
}

const NothingToCompare = () => (
  <EmptyState title="There is no earlier generation to compare with.">
    <p>
      Imports keep a brand's earlier generations. The <code>keep_generations</code> setting limits how many.
    </p>
  </EmptyState>
);

interface GenerationFormProps {
  readonly brand: string;
  readonly generations: readonly Generation[];
  readonly from: Generation | undefined;
  readonly to: Generation | undefined;
  readonly now: number;
}

function GenerationForm({ brand, generations, from, to, now }: GenerationFormProps) {
  const options = generations.map(({ id, loadedAt, isCurrent }) => ({
    value: `${id}`,
    text: `${id}, loaded ${relativeTime(Date.parse(loadedAt), now)}${isCurrent ? ", current" : ""}`,
  }));
  return (
    <form class="filter" action="/personalization/difference">
      <input type="hidden" name="brand" value={brand} />
      <Select name="from" label="From" options={options} selected={from && `${from.id}`} />
      <Select name="to" label="To" options={options} selected={to && `${to.id}`} />
      <button type="submit" class="primary">
        Compare
      </button>
    </form>
  );
}

interface DifferencesProps {
  readonly difference: GenerationDifference;
  readonly brand: string;
  readonly request: PageRequest;
}

function Differences({ difference: { skus, styles, groups }, brand, request }: DifferencesProps) {
  /** Links changed names to their values, and the others to the lookup. */
  const linkBy = (by: ItemKind) => (name: string, change: string) => {
    const values = { ...noItem, [by]: name };
    const url =
      change === "changed"
        ? `${urlOf(request, values)}#values`
        : urlWithQuery("/personalization", { [by]: name, brand });
    return change === "removed" ? name : <a href={url}>{name}</a>;
  };
  return (
    <>
      <Difference id="skus" title="SKUs" difference={skus} linkTo={linkBy("sku")} />
      <Difference id="styles" title="Styles" difference={styles} linkTo={linkBy("style")} />
      <Difference id="choice-groups" title="Choice groups" difference={groups} linkTo={linkBy("group")} />
    </>
  );
}

interface DifferenceProps {
  readonly id: string;
  readonly title: string;
  readonly difference: NamesDifference;
  readonly linkTo: (name: string, change: string) => Child;
}

function Difference({ id, title, difference, linkTo }: DifferenceProps) {
  const changes = Object.entries(difference) as [string, DifferingNames][];
  return (
    <Section id={id} title={title}>
      {changes.every(([, { count }]) => count === 0) ? (
        <p class="muted">No differences.</p>
      ) : (
        <dl class="differences">
          {changes.map(([change, names]) => (
            <ChangedNames change={change} names={names} linkTo={linkTo} />
          ))}
        </dl>
      )}
    </Section>
  );
}

interface ChangedNamesProps extends Pick<DifferenceProps, "linkTo"> {
  /** `added`, `changed`, or `removed`. */
  readonly change: string;
  readonly names: DifferingNames;
}

const ChangedNames = ({ change, names: { count, first }, linkTo }: ChangedNamesProps) => (
  <div>
    <dt>
      {formatNumber(count)} {change}
    </dt>
    <dd>
      <CommaSeparated items={first.map((name) => linkTo(name, change))} />
      {count > first.length ? `, and ${formatNumber(count - first.length)} more` : ""}
    </dd>
  </div>
);
