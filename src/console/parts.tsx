/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import type { Run } from "../job.ts";
import { exact, relative } from "./format.ts";
import { addressOf } from "./page.ts";

/** An instant as people say it; the exact one is behind it. */
export function Time({ at, now }: { readonly at: string; readonly now: number }) {
  return (
    <time datetime={at} title={exact(at)}>
      {relative(Date.parse(at), now)}
    </time>
  );
}

/** The same with the exact one beside it. */
export function FullTime({ at, now }: { readonly at: string; readonly now: number }) {
  return (
    <time datetime={at}>
      {exact(at)} <span class="quiet">({relative(Date.parse(at), now)})</span>
    </time>
  );
}

/** A table that scrolls by itself where the page is narrow; focusable, so that keys can scroll it. */
export function Table({ head, label, children }: TableProps) {
  return (
    <section class="table" tabindex={0} aria-label={`Table: ${label}`}>
      <table>
        <thead>
          <tr>
            {head.map((title) => (
              <th scope="col" {...(numeric.test(title) && { class: "number" })}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

interface TableProps {
  readonly head: readonly string[];
  readonly label: string;
  readonly children?: Child;
}

/** Columns whose values are compared digit by digit. */
const numeric = /^(Count|Counts|SKUs|Styles|Choices|Rows|Variants|Price|Stock|Total|Added|Changed|Removed|Took|Run)$/;

/** Text as it is, which scrolls by itself; focusable, so that keys can scroll it. */
export const Raw = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <section class="raw" tabindex={0} aria-label={label}>
    <pre>{text}</pre>
  </section>
);

/** How a run stands, by word and by shape, not by colour alone. */
export function Standing({ run }: { readonly run: Pick<Run, "outcome"> }) {
  const standing = run.outcome ?? "running";
  return <span class={`standing ${standing}`}>{standing}</span>;
}

/** What is said where there is nothing, and what to do next. */
export function Empty({ title, children }: { readonly title: string; readonly children?: Child }) {
  return (
    <div class="empty">
      <p class="strong">{title}</p>
      {children}
    </div>
  );
}

/** Names and values. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: Child])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export const RunLink = ({ id }: { readonly id: number }) => <a href={`/runs/${id}`}>{id}</a>;

export const SkuLink = ({ sku, brand }: { readonly sku: string; readonly brand?: string | undefined }) => (
  <a href={addressOf("/personalization", { sku, brand })}>{sku}</a>
);
