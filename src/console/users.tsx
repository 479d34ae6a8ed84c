/** @jsxImportSource hono/jsx */
import type { UsedStyle } from "../database/personalization.ts";
import { counted, number } from "./format.ts";
import { addressOf } from "./page.ts";
import { SkuLink, Table } from "./parts.tsx";

/** Styles that are shown at once. */
export const shownStyles = 100;

interface UsersOfStyleProps {
  readonly used: UsedStyle;
  readonly brand: string;
}

const notCounted = "An unknown number of SKUs, since the generation was loaded before they were counted,";

export function UsersOfStyle({ used: { style, skus, examples }, brand }: UsersOfStyleProps) {
  return (
    <section aria-labelledby="users">
      <h2 id="users">Style {style}</h2>
      <p>
        {skus === null ? notCounted : counted(skus, "SKU")} of {brand} {skus === 1 ? "offers" : "offer"} it.{" "}
        {examples.length < (skus ?? 0) ? `The first ${examples.length} in the feed:` : ""}
      </p>
      <ul class="columns">
        {examples.map((sku) => (
          <li>
            <SkuLink sku={sku} brand={brand} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface UsersOfGroupProps {
  readonly group: string;
  readonly brand: string;
  readonly styles: readonly UsedStyle[];
}

export function UsersOfGroup({ group, brand, styles }: UsersOfGroupProps) {
  const offered = styles.reduce((total, { skus }) => total + (skus ?? 0), 0);
  const isAll = styles.length < shownStyles;
  return (
    <section aria-label={`Choice group ${group}`}>
      <h2>Choice group {group}</h2>
      <p>
        {isAll ? counted(styles.length, "style") : `The first ${shownStyles} styles that use it`} of {brand}, offered{" "}
        {counted(offered, "time")}. A SKU that offers several of them is counted with each.
      </p>
      <Styles styles={styles} brand={brand} label={`Styles that use the choice group ${group}`} />
    </section>
  );
}

interface StylesProps {
  readonly styles: readonly UsedStyle[];
  readonly brand: string;
  readonly label: string;
}

function Styles({ styles, brand, label }: StylesProps) {
  return (
    <Table head={["Style", "SKUs", "First of them"]} label={label}>
      {styles.map(({ style, skus, examples }) => (
        <tr>
          <th scope="row">
            <a href={addressOf("/personalization", { style, brand })}>{style}</a>
          </th>
          <td class="number">{skus === null ? "none counted" : number(skus)}</td>
          <td class="excerpt">
            {examples.slice(0, 5).map((sku, index) => (
              <>
                {index === 0 ? "" : ", "}
                <SkuLink sku={sku} brand={brand} />
              </>
            ))}
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface StylesOfBrandProps {
  readonly styles: readonly UsedStyle[];
  readonly brand: string;
}

export function StylesOfBrand({ styles, brand }: StylesOfBrandProps) {
  return (
    <section aria-labelledby="styles">
      <h2 id="styles">
        {styles.length < shownStyles ? "Styles" : `The first ${shownStyles} styles`} of {brand}
      </h2>
      <Styles styles={styles} brand={brand} label={`Styles of ${brand}`} />
    </section>
  );
}
