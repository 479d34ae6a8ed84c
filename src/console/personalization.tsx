/** @jsxImportSource hono/jsx */
import { type Generation, listGenerations } from "../database/generation.ts";
import {
  findPersonalization,
  findUsedStyle,
  listGroupsOfChoice,
  listStyles,
  listStylesOfGroup,
} from "../database/personalization.ts";
import { maxSkuLength, orderPersonalization, type Personalization } from "../personalization.ts";
import { type ConsoleContext, publicOrigin } from "./context.ts";
import { counted } from "./format.ts";
import { Layout } from "./layout.tsx";
import { Options } from "./options.tsx";
import { addressOf, asked, originOf, type PageRequest, type Render, toPage } from "./page.ts";
import { Empty, Raw } from "./parts.tsx";
import { StylesOfBrand, shownStyles, UsersOfGroup, UsersOfStyle } from "./users.tsx";

/** `GET /personalization?sku=|style=|group=|choice=&brand=`: what a SKU offers, or who uses a style, a choice group or a choice. */
export function personalizationPage(context: ConsoleContext): Render {
  return async (request) => {
    const { database } = context;
    const generations = (await listGenerations(database)).filter(({ isCurrent }) => isCurrent);
    const question = questionOf(context, request, generations);
    const origin = publicOrigin(context, request);
    const widget = origin + context.widgetPath;
    const isShown = question.kind === "sku" && question.name !== undefined;
    return toPage(
      <Layout title="Personalization" section="/personalization" scripts={isShown ? [widget] : []}>
        <Questions question={question} generations={generations} />
        {generations.length === 0 ? (
          ""
        ) : (
          <p>
            <a href={addressOf("/personalization/difference", { brand: question.brand })}>
              Compare the generations of {question.brand}
            </a>
          </p>
        )}
        {generations.length === 0 ? <NoGenerations /> : await answer(context, question, generations, origin)}
      </Layout>,
      { admission: isShown ? { scripts: [originOf(widget) ?? ""], answers: [origin] } : {} },
    );
  };
}

/** What can be asked for, by the parameter that names it. */
const kinds = {
  sku: "What a SKU offers",
  style: "Who offers a style",
  group: "Who uses a choice group",
  choice: "Where a choice is",
} as const;

type Kind = keyof typeof kinds;

interface Question {
  readonly kind: Kind;
  /** Matched exactly, with the space around it; undefined when nothing is asked for yet. */
  readonly name: string | undefined;
  readonly brand: string;
}

/** A link names what it is about by a parameter, `?sku=`; the form says it by its choice, `?by=sku&name=`. */
function questionOf({ brand }: ConsoleContext, request: PageRequest, generations: readonly Generation[]): Question {
  const { searchParams } = request.url;
  const kindsAsked = Object.keys(kinds) as Kind[];
  const kind =
    kindsAsked.find((one) => searchParams.get(one)) ??
    kindsAsked.find((one) => searchParams.get("by") === one) ??
    "sku";
  const name = searchParams.get(kind) || searchParams.get("name") || undefined;
  const isKnown = generations.some((generation) => generation.brand === brand);
  return {
    kind,
    name: name?.slice(0, maxSkuLength),
    brand: asked(request, "brand") ?? (isKnown ? brand : (generations[0]?.brand ?? brand)),
  };
}

/** Choice groups of one choice that are shown. */
const shownGroups = 20;

async function answer(
  { database }: ConsoleContext,
  { kind, name, brand }: Question,
  generations: readonly Generation[],
  origin: string,
) {
  if (kind === "sku" && name !== undefined) {
    const found = orderPersonalization(await findPersonalization(database, brand, name));
    return <OfSku sku={name} brand={brand} found={found} endpoint={`${origin}/api/v1`} />;
  }
  const generation = generations.find((one) => one.brand === brand);
  if (generation === undefined) return <NotThere what={`No generation of ${brand} is served.`} />;
  if (name === undefined) {
    const styles = await listStyles(database, generation.id, shownStyles);
    return (
      <>
        <Invitation />
        <StylesOfBrand styles={styles} brand={brand} />
      </>
    );
  }
  if (kind === "style") {
    const used = await findUsedStyle(database, generation.id, name);
    if (used === undefined) return <NoName what={`The generation of ${brand} has no style ${name}.`} />;
    return <UsersOfStyle used={used} brand={brand} />;
  }
  if (kind === "group") {
    const styles = await listStylesOfGroup(database, generation.id, name, shownStyles);
    if (styles.length === 0) return <NoName what={`No style of ${brand} uses the choice group ${name}.`} />;
    return <UsersOfGroup group={name} brand={brand} styles={styles} />;
  }
  const groups = await listGroupsOfChoice(database, generation.id, name, shownGroups);
  if (groups.length === 0) return <NoName what={`No choice group of ${brand} has the choice ${name}.`} />;
  const stylesOf = (group: string) => listStylesOfGroup(database, generation.id, group, shownStyles);
  const found = await Promise.all(groups.map(async (group) => ({ group, styles: await stylesOf(group) })));
  return found.map(({ group, styles }) => <UsersOfGroup group={group} brand={brand} styles={styles} />);
}

interface QuestionsProps {
  readonly question: Question;
  readonly generations: readonly Generation[];
}

function Questions({ question: { kind, name, brand }, generations }: QuestionsProps) {
  const brands = [...new Set([...generations.map((generation) => generation.brand), brand])];
  return (
    <form class="filter" action="/personalization">
      <label>
        <span>Look up</span>
        <select name="by">
          {Object.entries(kinds).map(([one, text]) => (
            <option value={one} selected={one === kind}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label class="wide">
        <span>SKU, style, choice group or choice</span>
        <input name="name" value={name ?? ""} autocomplete="off" spellcheck={false} />
      </label>
      <label>
        <span>Brand</span>
        <select name="brand">
          {brands.map((one) => (
            <option value={one} selected={one === brand}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Show</button>
    </form>
  );
}

interface OfSkuProps {
  readonly sku: string;
  readonly brand: string;
  readonly found: Personalization;
  readonly endpoint: string;
}

function OfSku({ sku, brand, found, endpoint }: OfSkuProps) {
  if (found.pzlines.length === 0) {
    return (
      <NotThere what={`${sku} offers no personalization.`}>
        <p>
          SKUs are matched exactly, with case and spaces. The public API answers three empty lists for it:{" "}
          <a href={`${endpoint}/products/pz/${encodeURIComponent(sku)}`}>as clients see it</a>.
        </p>
      </NotThere>
    );
  }
  return (
    <>
      <div class="beside">
        <section aria-labelledby="tree">
          <h2 id="tree">{sku}: style, line, choices</h2>
          <Options found={found} brand={brand} />
        </section>
        <section aria-labelledby="widget">
          <h2 id="widget">As a customer sees it</h2>
          <personalization-options sku={sku} endpoint={endpoint}>
            <p class="quiet">
              The widget is not there: it needs script, and the public listener within this browser's reach.
            </p>
          </personalization-options>
        </section>
      </div>
      <section aria-labelledby="raw">
        <h2 id="raw">Raw answer</h2>
        <p>
          <a href={`${endpoint}/products/pz/${encodeURIComponent(sku)}`}>As clients see it</a>
        </p>
        <details>
          <summary>
            {counted(found.pzlines.length, "line")}, {counted(found.pzstyles.length, "style")},{" "}
            {counted(found.pzchoices.length, "choice")}
          </summary>
          <Raw label="The answer as JSON" text={JSON.stringify(found, null, 2)} />
        </details>
      </section>
    </>
  );
}

const NotThere = ({ what, children }: { readonly what: string; readonly children?: unknown }) => (
  <Empty title={what}>{children as string}</Empty>
);

const NoName = ({ what }: { readonly what: string }) => (
  <NotThere what={what}>
    <p>Names are matched exactly, with case and spaces.</p>
  </NotThere>
);

const Invitation = () => (
  <Empty title="Ask for a SKU, a style, a choice group or a choice.">
    <p>
      A SKU shows what can be put on it. A style, a choice group or a choice shows which SKUs a change of it would
      reach.
    </p>
  </Empty>
);

const NoGenerations = () => (
  <Empty title="No personalization is stored.">
    <p>
      Import a feed with <code>pds import personalization FOLDER</code>, or configure the job{" "}
      <code>personalization-import</code>.
    </p>
  </Empty>
);
