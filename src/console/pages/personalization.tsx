/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { parseId } from "../../base/id.ts";
import type { Database } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import { type Generation, listGenerations } from "../../personalization/generation.ts";
import { findUsedStyle, listGroupsOfChoice, listStyles, listStylesOfGroup } from "../../personalization/store.ts";
import { EmptyState } from "../components/elements.tsx";
import { Select, TextField } from "../components/fields.tsx";
import { BrandStyles, ChoiceGroupUsage, StyleUsage, styleLimit } from "../components/style-usage.tsx";
import { type ConsoleContext, type PageContent, publicRoot, selectBrand } from "../context.ts";
import { lookUpSku } from "../sku-lookup.tsx";
import { originOf, queryParameter, toName, urlOf, urlWithQuery } from "../urls.ts";

/**
 * `GET /personalization?sku=|style=|group=|choice=&brand=&mark=&after=`: a SKU's personalization, the
 * SKUs that use something, or the styles of a brand in pages.
 */
export async function personalizationPage(context: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const generations = await listGenerations(context.database);
  const current = generations.filter(({ isCurrent }) => isCurrent);
  const lookup = parseLookup(context, request, current);
  const root = publicRoot(context, request);
  const origin = originOf(root) ?? "";
  const isOfSku = lookup.by === "sku" && lookup.value !== undefined;
  const result =
    current.length === 0 && !isOfSku
      ? { body: <NoPersonalization /> }
      : await lookUp(context, request, lookup, generations, `${root}/api/v1`);
  const { brand = lookup.brand, hasWidget = false } = result;
  const key = lookup.value === undefined ? "choice" : lookup.by;
  return {
    body: (
      <>
        {/* Looks up the same name in another brand, or a choice, which the search does not cover. */}
        <form class="filter" action="/personalization">
          <TextField name={key} label={`${lookupLabels[key]}, exactly`} value={lookup.value} class="wide" />
          <Select name="brand" label="Brand" options={current.map((each) => each.brand)} selected={brand} />
          <button type="submit" class="primary">
            Show
          </button>
        </form>
        {current.length !== 0 && (
          <p>
            <a href={urlWithQuery("/personalization/versions", { brand })}>Versions of {brand}</a>
          </p>
        )}
        {result.body}
      </>
    ),
    ...(hasWidget && {
      scripts: [root + (await context.findWidgetPath())],
      allowedOrigins: { scripts: [origin], connections: [origin] },
    }),
  };
}

interface LookupResult {
  readonly body: Child;
  /** The brand that is shown, if not the requested one. */
  readonly brand?: string | undefined;
  readonly hasWidget?: boolean;
}

/** The keys are also the query parameters. */
const lookupLabels = { sku: "SKU", style: "Style", group: "Choice group", choice: "Choice" } as const;

type LookupKey = keyof typeof lookupLabels;

interface Lookup {
  readonly by: LookupKey;
  /** Matched exactly, so it is not trimmed; undefined when nothing was entered. */
  readonly value: string | undefined;
  readonly brand: string;
}

/** Links and forms use `?sku=VALUE`; forms of earlier versions `?by=sku&name=VALUE`. */
function parseLookup(context: ConsoleContext, request: PageRequest, generations: readonly Generation[]): Lookup {
  const { searchParams } = request.url;
  const keys = Object.keys(lookupLabels) as LookupKey[];
  const by = keys.find((key) => searchParams.get(key)) ?? keys.find((key) => searchParams.get("by") === key) ?? "sku";
  const value = searchParams.get(by) || searchParams.get("name") || undefined;
  return { by, value: value && toName(value), brand: selectBrand(context, request, generations) };
}

const groupLimit = 20;

async function lookUp(
  context: ConsoleContext,
  request: PageRequest,
  { by, value, brand }: Lookup,
  generations: readonly Generation[],
  endpoint: string,
): Promise<LookupResult> {
  const { database } = context;
  if (by === "sku" && value !== undefined) return await lookUpSku(context, request, value, generations, endpoint);
  const generation = generations.find((each) => each.isCurrent && each.brand === brand);
  if (generation === undefined) return { body: <EmptyState title={`${brand} has no current generation.`} /> };
  if (value === undefined) return { body: await listBrandStyles(database, request, generation) };
  if (by === "style") return { body: await renderStyle(database, generation, value) };
  return { body: await renderGroups(database, generation, by, value) };
}

async function listBrandStyles(database: Database, request: PageRequest, { id, brand, styles: count }: Generation) {
  const begin = parseId(queryParameter(request, "after") ?? "") ?? 0;
  const found = await listStyles(database, id, styleLimit + 1, begin);
  const styles = found.slice(0, styleLimit);
  const last = found.length > styleLimit ? styles.at(-1)?.number : undefined;
  return (
    <>
      <EmptyState title="Search for a SKU, style, or choice group above, or look up a choice here.">
        <p>
          For a SKU, this page shows its personalization. For a style, choice group, or choice, it shows the SKUs that a
          change would affect.
        </p>
      </EmptyState>
      <BrandStyles styles={styles} brand={brand} count={count} />
      <nav class="pagination" aria-label="Pages">
        {begin !== 0 && <a href={urlOf(request, { after: undefined })}>First styles</a>}
        {last !== undefined && <a href={urlOf(request, { after: last })}>Next styles</a>}
      </nav>
    </>
  );
}

async function renderStyle(database: Database, { id, brand }: Generation, style: string): Promise<Child> {
  const usage = await findUsedStyle(database, id, style);
  if (usage === undefined) return <NotFound message={`The current generation of ${brand} has no style ${style}.`} />;
  return <StyleUsage {...usage} brand={brand} />;
}

async function renderGroups(
  database: Database,
  { id, brand }: Generation,
  by: LookupKey,
  value: string,
): Promise<Child> {
  const names = by === "group" ? [value] : await listGroupsOfChoice(database, id, value, groupLimit);
  if (names.length === 0) return <NotFound message={`No choice group of ${brand} contains the choice ${value}.`} />;
  const groups = await Promise.all(
    names.map(async (group) => ({ group, styles: await listStylesOfGroup(database, id, group) })),
  );
  if (by === "group" && groups[0]?.styles.length === 0) {
    return <NotFound message={`No style of ${brand} uses the choice group ${value}.`} />;
  }
  return (
    <>
      {groups.map(({ group, styles }) => (
        <ChoiceGroupUsage group={group} brand={brand} styles={styles} />
      ))}
    </>
  );
}

const NotFound = ({ message }: { readonly message: string }) => (
  <EmptyState title={message}>
    <p>The value must match exactly, including case and spaces.</p>
  </EmptyState>
);

const NoPersonalization = () => (
  <EmptyState title="No personalization is stored.">
    <p>
      Import a feed with <code>pds import personalization FOLDER</code>, or configure the{" "}
      <code>personalization-import</code> job.
    </p>
  </EmptyState>
);
