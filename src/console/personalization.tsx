/** @jsxImportSource hono/jsx */
import { type Generation, listGenerations } from "../database/generation.ts";
import { findPersonalization, findUsedStyle, listStyles, listStylesOfGroup } from "../database/personalization.ts";
import { maxSkuLength, orderPersonalization, type Personalization } from "../personalization.ts";
import { type ConsoleContext, publicOrigin } from "./context.ts";
import { counted } from "./format.ts";
import { Layout } from "./layout.tsx";
import { Options } from "./options.tsx";
import { addressOf, asked, originOf, type PageRequest, type Render, toPage } from "./page.ts";
import { Empty, Raw } from "./parts.tsx";
import { StylesOfBrand, shownStyles, UsersOfGroup, UsersOfStyle } from "./users.tsx";

/** `GET /personalization?sku=|style=|group=&brand=`: what a SKU offers, or who uses a style or a choice group. */
export function personalizationPage(context: ConsoleContext): Render {
  return async (request) => {
    const { database } = context;
    const generations = (await listGenerations(database)).filter(({ isCurrent }) => isCurrent);
    const question = questionOf(context, request, generations);
    const origin = publicOrigin(context, request);
    const widget = origin + context.widgetPath;
    const isShown = question.sku !== undefined;
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

interface Question {
  readonly sku: string | undefined;
  readonly style: string | undefined;
  readonly group: string | undefined;
  readonly brand: string;
}

/** A SKU, a style and a group keep the space around them: they are matched exactly. */
function questionOf({ brand }: ConsoleContext, request: PageRequest, generations: readonly Generation[]): Question {
  const { searchParams } = request.url;
  // A link names what it is about; the form says it by its choice.
  const given = (name: string) =>
    searchParams.get(name) ?? (searchParams.get("by") === name ? searchParams.get("name") : null);
  const exactly = (name: string) => given(name)?.slice(0, maxSkuLength) || undefined;
  const isKnown = generations.some((generation) => generation.brand === brand);
  return {
    sku: exactly("sku"),
    style: exactly("style"),
    group: exactly("group"),
    brand: asked(request, "brand") ?? (isKnown ? brand : (generations[0]?.brand ?? brand)),
  };
}

async function answer(
  { database }: ConsoleContext,
  { sku, style, group, brand }: Question,
  generations: readonly Generation[],
  origin: string,
) {
  if (sku !== undefined) {
    const found = orderPersonalization(await findPersonalization(database, brand, sku));
    return <OfSku sku={sku} brand={brand} found={found} endpoint={`${origin}/api/v1`} />;
  }
  const generation = generations.find((one) => one.brand === brand);
  if (generation === undefined) return <NotThere what={`No generation of ${brand} is served.`} />;
  const name = style ?? group;
  if (name === undefined) {
    const styles = await listStyles(database, generation.id, shownStyles);
    return (
      <>
        <Invitation />
        <StylesOfBrand styles={styles} brand={brand} />
      </>
    );
  }
  if (style !== undefined) {
    const used = await findUsedStyle(database, generation.id, style);
    return used === undefined ? (
      <NotThere what={`The generation of ${brand} has no style ${style}.`}>
        <p>Names are matched exactly, with case and spaces.</p>
      </NotThere>
    ) : (
      <UsersOfStyle used={used} brand={brand} />
    );
  }
  const styles = await listStylesOfGroup(database, generation.id, name, shownStyles);
  return styles.length === 0 ? (
    <NotThere what={`No style of ${brand} uses the choice group ${name}.`}>
      <p>Names are matched exactly, with case and spaces.</p>
    </NotThere>
  ) : (
    <UsersOfGroup group={name} brand={brand} styles={styles} />
  );
}

const kinds = { sku: "What a SKU offers", style: "Who offers a style", group: "Who uses a choice group" } as const;

function Questions({ question, generations }: QuestionsProps) {
  const { sku, style, group, brand } = question;
  const brands = [...new Set([...generations.map((generation) => generation.brand), brand])];
  const chosen = style !== undefined ? "style" : group !== undefined && sku === undefined ? "group" : "sku";
  return (
    <form class="filter" action="/personalization">
      <label>
        <span>Look up</span>
        <select name="by">
          {Object.entries(kinds).map(([kind, text]) => (
            <option value={kind} selected={kind === chosen}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label class="wide">
        <span>SKU, style or choice group</span>
        <input name="name" value={sku ?? style ?? group ?? ""} autocomplete="off" spellcheck={false} />
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

interface QuestionsProps {
  readonly question: Question;
  readonly generations: readonly Generation[];
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

const Invitation = () => (
  <Empty title="Ask for a SKU, a style or a choice group.">
    <p>A SKU shows what can be put on it. A style or a choice group shows which SKUs a change of it would reach.</p>
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
