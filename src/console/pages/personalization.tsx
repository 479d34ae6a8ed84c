/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { Database } from "../../database/database.ts";
import { type Generation, listGenerations } from "../../database/generation.ts";
import { findUsedStyle, listGroupsOfChoice, listStyles, listStylesOfGroup } from "../../database/personalization.ts";
import { maxSkuLength } from "../../model/personalization.ts";
import type { PageRequest } from "../../page.ts";
import { EmptyState } from "../components/elements.tsx";
import { Select } from "../components/select.tsx";
import { SkuPersonalization } from "../components/sku-personalization.tsx";
import { BrandStyles, ChoiceGroupUsage, StyleUsage, styleLimit } from "../components/style-usage.tsx";
import { type ConsoleContext, type PageContent, publicRoot, selectBrand } from "../context.ts";
import { originOf, urlWithQuery } from "../urls.ts";

/**
 * `GET /personalization?sku=|style=|group=|choice=&brand=`: a SKU's personalization, or the SKUs
 * that use something.
 */
export async function personalizationPage(context: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const { database } = context;
  const generations = (await listGenerations(database)).filter(({ isCurrent }) => isCurrent);
  const lookup = parseLookup(context, request, generations);
  const root = publicRoot(context, request);
  const origin = originOf(root) ?? "";
  const hasWidget = lookup.by === "sku" && lookup.value !== undefined;
  return {
    body: (
      <>
        <LookupForm lookup={lookup} generations={generations} />
        {generations.length === 0 ? (
          <NoPersonalization />
        ) : (
          <>
            <p>
              <a href={urlWithQuery("/personalization/difference", { brand: lookup.brand })}>
                Compare generations of {lookup.brand}
              </a>
            </p>
            {await renderResult(context, lookup, generations, `${root}/api/v1`)}
          </>
        )}
      </>
    ),
    ...(hasWidget && {
      scripts: [root + (await context.findWidgetPath())],
      allowedOrigins: { scripts: [origin], connections: [origin] },
    }),
  };
}

/** The keys are also the query parameters. */
const lookupLabels = {
  sku: "SKU",
  style: "Style",
  group: "Choice group",
  choice: "Choice",
} as const;

type LookupKey = keyof typeof lookupLabels;

interface Lookup {
  readonly by: LookupKey;
  /** Matched exactly, so it is not trimmed; undefined when nothing was entered. */
  readonly value: string | undefined;
  readonly brand: string;
}

/** Links use `?sku=VALUE`; the form submits `?by=sku&name=VALUE`. */
function parseLookup(context: ConsoleContext, request: PageRequest, generations: readonly Generation[]): Lookup {
  const { searchParams } = request.url;
  const keys = Object.keys(lookupLabels) as LookupKey[];
  const by = keys.find((key) => searchParams.get(key)) ?? keys.find((key) => searchParams.get("by") === key) ?? "sku";
  const value = searchParams.get(by) || searchParams.get("name") || undefined;
  return { by, value: value?.slice(0, maxSkuLength), brand: selectBrand(context, request, generations) };
}

const groupLimit = 20;

async function renderResult(
  { database, findPersonalization }: ConsoleContext,
  { by, value, brand }: Lookup,
  generations: readonly Generation[],
  endpoint: string,
): Promise<Child> {
  if (by === "sku" && value !== undefined) {
    const personalization = await findPersonalization(brand, value);
    return <SkuPersonalization sku={value} brand={brand} personalization={personalization} endpoint={endpoint} />;
  }
  const generation = generations.find((current) => current.brand === brand);
  if (generation === undefined) return <EmptyState title={`${brand} has no current generation.`} />;
  if (value === undefined) {
    const styles = await listStyles(database, generation.id, styleLimit);
    return (
      <>
        <LookupHelp />
        <BrandStyles styles={styles} brand={brand} />
      </>
    );
  }
  if (by === "style") return await renderStyle(database, generation, value);
  return await renderGroups(database, generation, by, value);
}

async function renderStyle(database: Database, { id, brand }: Generation, style: string): Promise<Child> {
  const usage = await findUsedStyle(database, id, style);
  if (usage === undefined) return <NotFound message={`The current generation of ${brand} has no style ${style}.`} />;
  return <StyleUsage usage={usage} brand={brand} />;
}

/** The choice group with the given name, or the groups that contain the given choice. */
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

interface LookupFormProps {
  readonly lookup: Lookup;
  readonly generations: readonly Generation[];
}

const LookupForm = ({ lookup: { by, value, brand }, generations }: LookupFormProps) => (
  <form class="filter" action="/personalization">
    <Select
      name="by"
      label="Look up"
      options={Object.entries(lookupLabels).map(([value, text]) => ({ value, text }))}
      selected={by}
    />
    <label class="wide">
      <span>Exact value</span>
      <input name="name" value={value ?? ""} autocomplete="off" spellcheck={false} />
    </label>
    <Select name="brand" label="Brand" options={generations.map((generation) => generation.brand)} selected={brand} />
    <button type="submit">Show</button>
  </form>
);

const NotFound = ({ message }: { readonly message: string }) => (
  <EmptyState title={message}>
    <p>The value must match exactly, including case and spaces.</p>
  </EmptyState>
);

const LookupHelp = () => (
  <EmptyState title="Look up a SKU, style, choice group, or choice.">
    <p>
      For a SKU, this page shows its personalization. For a style, choice group, or choice, it shows the SKUs that a
      change would affect.
    </p>
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
