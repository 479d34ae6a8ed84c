/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { readNow } from "../database/database.ts";
import { type Generation, listGenerations } from "../database/generation.ts";
import type { DifferingNames, NamesDifference } from "../personalization.ts";
import type { ConsoleContext } from "./context.ts";
import { number, relative } from "./format.ts";
import { Layout } from "./layout.tsx";
import { addressOf, asked, type PageRequest, type Render, toPage } from "./page.ts";
import { Empty, SkuLink } from "./parts.tsx";

/** `GET /personalization/difference?brand=&from=&to=`: what is not alike in two generations of a brand. */
export function differencePage({ database, compare, brand: ownBrand }: ConsoleContext): Render {
  return async (request) => {
    const all = await listGenerations(database);
    const brand =
      asked(request, "brand") ?? (all.some((one) => one.brand === ownBrand) ? ownBrand : (all[0]?.brand ?? ownBrand));
    const generations = all.filter((generation) => generation.brand === brand);
    const [from, to] = pairOf(request, generations);
    const now = Date.parse(await readNow(database));
    const difference =
      from === undefined || to === undefined || from === to ? undefined : await compare(from.id, to.id);
    return toPage(
      <Layout title={`Generations of ${brand}`} section="/personalization">
        {generations.length < 2 ? (
          <Empty title="There are no two generations to compare.">
            <p>An import leaves the earlier ones beside the new one; how many is set by `keep_generations`.</p>
          </Empty>
        ) : (
          <Choose brand={brand} generations={generations} from={from} to={to} now={now} />
        )}
        {difference === undefined ? (
          ""
        ) : (
          <>
            <Difference
              title="SKUs"
              difference={difference.skus}
              linkTo={(sku) => <SkuLink sku={sku} brand={brand} />}
            />
            <Difference
              title="Styles"
              difference={difference.styles}
              linkTo={(style) => <a href={addressOf("/personalization", { style, brand })}>{style}</a>}
            />
            <Difference
              title="Choice groups"
              difference={difference.groups}
              linkTo={(group) => <a href={addressOf("/personalization", { group, brand })}>{group}</a>}
            />
          </>
        )}
      </Layout>,
    );
  };
}

/** The two that are asked for; otherwise the current one and the newest that is older. */
function pairOf(
  request: PageRequest,
  generations: readonly Generation[],
): [Generation | undefined, Generation | undefined] {
  const named = (name: string) => generations.find(({ id }) => `${id}` === asked(request, name));
  const to = named("to") ?? generations.find(({ isCurrent }) => isCurrent);
  return [named("from") ?? generations.find(({ id }) => to !== undefined && id < to.id), to];
}

interface ChooseProps {
  readonly brand: string;
  readonly generations: readonly Generation[];
  readonly from: Generation | undefined;
  readonly to: Generation | undefined;
  readonly now: number;
}

function Choose({ brand, generations, from, to, now }: ChooseProps) {
  const select = (name: string, label: string, chosen: Generation | undefined) => (
    <label>
      <span>{label}</span>
      <select name={name}>
        {generations.map(({ id, loadedAt, isCurrent }) => (
          <option value={`${id}`} selected={id === chosen?.id}>
            {id}, loaded {relative(Date.parse(loadedAt), now)}
            {isCurrent ? ", current" : ""}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <form class="filter" action="/personalization/difference">
      <input type="hidden" name="brand" value={brand} />
      {select("from", "From", from)}
      {select("to", "To", to)}
      <button type="submit">Compare</button>
    </form>
  );
}

interface DifferenceProps {
  readonly title: string;
  readonly difference: NamesDifference | undefined;
  readonly linkTo: (name: string) => Child;
}

function Difference({ title, difference, linkTo }: DifferenceProps) {
  const id = title.toLowerCase().replace(" ", "-");
  const kinds = Object.entries(difference ?? {}) as [string, DifferingNames][];
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {difference === undefined ? (
        <p class="quiet">They cannot be compared: one of the two was loaded before it was kept what is compared.</p>
      ) : kinds.every(([, { count }]) => count === 0) ? (
        <p class="quiet">They are alike.</p>
      ) : (
        <dl class="differences">
          {kinds.map(([kind, { count, isMore, first }]) => (
            <div>
              <dt>
                {number(count)}
                {isMore ? " or more" : ""} {kind}
              </dt>
              <dd>
                {first.map((name, index) => (
                  <>
                    {index === 0 ? "" : ", "}
                    {linkTo(name)}
                  </>
                ))}
                {count > first.length ? ` and ${number(count - first.length)} more` : ""}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
