/** @jsxImportSource hono/jsx */
import { pluralize } from "../../base/format.ts";
import type { UsedStyle } from "../../personalization/store.ts";
import { urlWithQuery } from "../urls.ts";
import { CommaSeparated, Section, SkuLink } from "./elements.tsx";
import { type Column, Table } from "./table.tsx";

export const styleLimit = 100;
const examplesPerRow = 5;

export const StyleUsage = ({ style, skus, examples, brand }: UsedStyle & { readonly brand: string }) => (
  <Section id="usage" title={`Style ${style}`}>
    <p>
      Offered on {pluralize(skus, "SKU")} of {brand}. {examples.length < skus ? `The first ${examples.length}:` : ""}
    </p>
    <ul class="sku-list">
      {examples.map((sku) => (
        <li>
          <SkuLink sku={sku} brand={brand} />
        </li>
      ))}
    </ul>
  </Section>
);

interface StylesProps {
  readonly styles: readonly UsedStyle[];
  readonly brand: string;
}

export function ChoiceGroupUsage({ group, brand, styles }: StylesProps & { readonly group: string }) {
  const offers = styles.reduce((total, { skus }) => total + skus, 0);
  const subject =
    styles.length < styleLimit
      ? `Used by ${pluralize(styles.length, "style")} of ${brand}`
      : `Only the first ${styleLimit} styles of ${brand} are shown`;
  return (
    <section aria-label={`Choice group ${group}`}>
      <h2>Choice group {group}</h2>
      <p>
        {subject}, offered {pluralize(offers, "time")} in total. A SKU that offers several of these styles counts once
        for each.
      </p>
      <StyleTable styles={styles} brand={brand} label={`Styles that use choice group ${group}`} />
    </section>
  );
}

const StyleTable = ({ styles, brand, label }: StylesProps & { readonly label: string }) => (
  <Table columns={styleColumns(brand)} rows={styles} label={label} />
);

const styleColumns = (brand: string): readonly Column<UsedStyle>[] => [
  {
    title: "Style",
    cell: ({ style }) => <a href={urlWithQuery("/personalization", { style, brand })}>{style}</a>,
  },
  { title: "SKUs", value: ({ skus }) => skus, isNumber: true },
  {
    title: "First SKUs",
    class: "excerpt",
    cell: ({ examples }) => (
      <CommaSeparated items={examples.slice(0, examplesPerRow).map((sku) => <SkuLink sku={sku} brand={brand} />)} />
    ),
  },
];

export const BrandStyles = ({ styles, brand, count }: StylesProps & { readonly count: number }) => (
  <Section id="styles" title={`Styles of ${brand}`}>
    <p class="muted">
      {styles.length === 0
        ? "None."
        : `${pluralize(count, "style")} in all; here ${styles[0]?.style} to ${styles.at(-1)?.style}.`}
    </p>
    {styles.length !== 0 && <StyleTable styles={styles} brand={brand} label={`Styles of ${brand}`} />}
  </Section>
);
