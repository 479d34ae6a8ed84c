import { pluralize, relativeTime, utcTime } from "../base/format.ts";
import type { Personalization } from "../contract/personalization.ts";
import type { Run } from "../jobs/run.ts";
import type { Generation } from "../personalization/generation.ts";
import { personalizationImportName } from "../personalization/options.ts";
import type { FoundOffer } from "./order-mark.ts";
import { shorten } from "./problems.ts";
import type { Loaded, Past, SkuFacts } from "./sku-facts.ts";
import { urlWithQuery } from "./urls.ts";

/** A part of a sentence that leads to a page of the console. */
interface SentenceLink {
  readonly text: string;
  readonly url: string;
}

type Part = string | SentenceLink;

export interface Finding {
  /** Names the cause for programs that read `pds explain sku --json`. */
  readonly kind: string;
  readonly sentence: readonly Part[];
}

export interface Explanation {
  /** Whether shoppers can personalize the SKU; with a brand, whether that brand offers it. */
  readonly isOffered: boolean;
  /** The answer in one sentence. */
  readonly answer: string;
  /** The causes and circumstances, the most likely ones first. */
  readonly findings: readonly Finding[];
}

export const textOf = ({ sentence }: Finding): string =>
  sentence.map((part) => (typeof part === "string" ? part : part.text)).join("");

export const linksOf = ({ sentence }: Finding): SentenceLink[] => sentence.filter((part) => typeof part !== "string");

const finding = (kind: string, ...sentence: readonly Part[]): Finding => ({ kind, sentence });

const skuLink = (sku: string, brand?: string, text = nameOf(sku)): SentenceLink => ({
  text,
  url: urlWithQuery("/personalization", { sku, brand }),
});

const runLink = (noun: string, { id }: Run): SentenceLink => ({ text: `${noun} ${id}`, url: `/runs/${id}` });

/** An exact time, and how long ago that is. */
const timeOf = (at: string, now: number) => `${utcTime(at)} (${relativeTime(Date.parse(at), now)})`;

const maxListed = 10;

/** The first of many parts, with commas between, and the number of the others. */
const listFirst = (parts: readonly Part[]): Part[] => [
  ...parts.slice(0, maxListed).flatMap((part, index) => (index === 0 ? [part] : [", ", part])),
  ...(parts.length > maxListed ? [` and ${parts.length - maxListed} more`] : []),
];

/** Why shoppers see the personalization of a SKU, or do not. */
export function explainSku(facts: SkuFacts): Explanation {
  const { asked, offering, offer, past, importing } = facts;
  const sku = nameOf(facts.sku);
  const circumstances = [...explainImports(facts), ...explainProducts(facts)];
  if (offer !== undefined) return explainOffer(facts, offer, circumstances);
  const [served] = offering;
  return {
    isOffered: false,
    answer:
      served === undefined
        ? `${sku} has no personalization.`
        : `Shoppers see ${sku} of ${served.brand}; ${asked} has no personalization of it.`,
    findings: [
      ...explainOtherBrands(facts),
      ...(past === undefined ? [] : explainAbsence(facts, past)),
      ...(importing.hasGeneration ? [] : explainUnchanged(facts)),
      ...circumstances,
    ],
  };
}

/** Spaces around a SKU, and control characters, would not be seen. */
const nameOf = (sku: string) => (/^\s|\s$|\s\s|\p{Cc}/u.test(sku) ? JSON.stringify(sku) : sku);

function explainOffer(facts: SkuFacts, offer: FoundOffer, circumstances: readonly Finding[]): Explanation {
  const { asked, offering, importing, now } = facts;
  const sku = nameOf(facts.sku);
  const { generation, personalization } = offer;
  const { brand, id, loadedAt } = generation;
  const { shown, withoutRows, blank } = sortStyles(personalization);
  const served = offering[0]?.brand ?? brand;
  const isServed = served === brand;
  const success =
    importing.lastSuccess === undefined ? "" : `; an import last succeeded ${timeOf(importing.lastSuccess, now)}`;
  const answered = pluralize(personalization.pzlines.length, "style");
  const findings = [
    finding(
      "offered",
      isServed ? `The public API returns ${answered}` : `${brand} offers ${answered}`,
      `, from generation ${id} of ${brand}, loaded ${timeOf(loadedAt, now)}${success}.`,
    ),
  ];
  if (withoutRows.length > 0) {
    const start = "Styles without rows in the feed, which are not shown: ";
    findings.push(finding("style-without-rows", start, ...listFirst(withoutRows), "."));
  }
  if (blank.length > 0) {
    const links = blank.map((code) => ({ text: code, url: urlWithQuery("/personalization", { style: code, brand }) }));
    const start = "Styles whose choices are all blank, which are not shown: ";
    findings.push(finding("blank-choices", start, ...listFirst(links), "."));
  }
  if (!isServed) {
    const link = skuLink(facts.sku, served, served);
    findings.push(finding("other-brand", "Shoppers do not see this one, but that of ", link, ", which comes first."));
  }
  findings.push(...circumstances);
  if (shown.length === 0) {
    return { isOffered: false, answer: `Shoppers can personalize nothing of ${sku}.`, findings };
  }
  findings.push(
    finding("cached", "If a page shows something else, a browser, a cache, or a CDN may still have an older response."),
  );
  return { isOffered: true, answer: asked === undefined ? `${sku} is offered.` : `${brand} offers ${sku}.`, findings };
}

/** Sorts the codes of a SKU's styles by whether the widget shows them. */
function sortStyles({ pzlines, pzstyles, pzchoices }: Personalization) {
  const rows = Map.groupBy(pzstyles, ({ style_code }) => style_code);
  const choices = Map.groupBy(pzchoices, ({ choice_type }) => choice_type);
  // A group without choices is free text.
  const canFillIn = (group: string) =>
    choices.get(group)?.some(({ choice_value }) => choice_value.trim() !== "") ?? true;
  const codes = pzlines.map(({ style_code }) => style_code);
  const [withRows, withoutRows] = [codes.filter((code) => rows.has(code)), codes.filter((code) => !rows.has(code))];
  const isShown = (code: string) => rows.get(code)?.some(({ choice_type }) => canFillIn(choice_type)) === true;
  return { shown: withRows.filter(isShown), blank: withRows.filter((code) => !isShown(code)), withoutRows };
}

function explainOtherBrands({ sku, offering }: SkuFacts): Finding[] {
  if (offering.length === 0) return [];
  const links = offering.map(({ brand }) => skuLink(sku, brand, brand));
  return [finding("other-brand", "Other brands have it: ", ...listFirst(links), ".")];
}

function explainAbsence(facts: SkuFacts, past: Past): Finding[] {
  const { asked, similar, importing, now } = facts;
  const findings: Finding[] = [];
  const { seen, searched, oldest } = past;
  if (seen !== undefined) {
    const { generation, current, removal } = seen;
    findings.push(
      removal === undefined ? explainRollback(generation, current, now) : explainRemoval(generation, removal, now),
    );
  }
  if (similar.length > 0) {
    const rule = "? SKUs must match exactly, including case, spaces, punctuation, and leading zeros.";
    findings.push(finding("similar", "Did you mean ", ...listFirst(similar.map((sku) => skuLink(sku))), rule));
  }
  if (!importing.hasGeneration) findings.push(explainNoFeed(facts));
  else if (seen === undefined && oldest !== undefined) {
    const of = asked === undefined ? "" : ` of ${asked}`;
    const sentence =
      searched === 1
        ? `It is not in the only stored generation${of}, which was loaded ${timeOf(oldest, now)}.`
        : `It is in none of the ${searched} stored generations${of}, the oldest loaded ${timeOf(oldest, now)}.`;
    findings.push(finding("not-stored", sentence));
  }
  return findings;
}

function explainRollback({ brand, id, loadedAt }: Generation, current: Generation, now: number): Finding {
  const since = current.since === null ? "" : ` since ${timeOf(current.since, now)}`;
  return finding(
    "rolled-back",
    `Generation ${id} of ${brand}, loaded ${timeOf(loadedAt, now)}, has it, but the older generation ${current.id} is current${since}, after a rollback.`,
  );
}

function explainRemoval(last: Generation, { generation, run, file, removed = 0 }: Loaded, now: number): Finding {
  const { brand, id, loadedAt } = generation;
  const others = removed > 1 ? `, and ${pluralize(removed - 1, "other SKU")}` : "";
  const from = file === undefined ? "" : `, from ${file}`;
  const url = urlWithQuery("/personalization/difference", { brand, from: last.id, to: id });
  return finding(
    "removed",
    run === undefined ? "An import" : runLink("Run", run),
    ` of ${brand} removed it${others}: generation ${id}, loaded ${timeOf(loadedAt, now)}${from}, is `,
    { text: "the first without it", url },
    `. Until then, it was in generation ${last.id}, loaded ${timeOf(last.loadedAt, now)}.`,
  );
}

function explainNoFeed({ asked, brands, importing: { brand, lastSuccess }, now }: SkuFacts): Finding {
  const reason =
    lastSuccess === undefined
      ? `No feed of ${brand} was ever loaded: import one, or configure ${personalizationImportName}.`
      : `No feed of ${brand} is stored, although an import last succeeded ${timeOf(lastSuccess, now)}: the feed was incomplete, or the brand was removed.`;
  // The name may be misspelled.
  const others = asked === undefined || brands.length === 0 ? [] : [" Brands with a feed: ", ...listFirst(brands), "."];
  return finding("no-feed", reason, ...others);
}

/** Why the last import loaded nothing. */
function explainUnchanged({ importing: { last, note } }: SkuFacts): Finding[] {
  if (last === undefined || note === undefined) return [];
  const end = `, loaded nothing: ${shorten(note)}.`;
  return [finding("nothing-loaded", "The last import, ", runLink("run", last), end)];
}

/** Why the stored feed may be old. */
function explainImports({ importing, now }: SkuFacts): Finding[] {
  const { brand, last, failingSince, lastSuccess, pause } = importing;
  const findings: Finding[] = [];
  if (failingSince !== undefined && last !== undefined) {
    const reason = last.reason === null ? "" : `: ${shorten(last.reason)}`;
    const start =
      lastSuccess === undefined
        ? `No import of ${brand} has ever succeeded: `
        : `The imports of ${brand} have not succeeded since ${timeOf(failingSince, now)}: `;
    const end = ` ${last.outcome === "failed" ? "failed" : `was ${last.outcome}`}${reason}.`;
    findings.push(finding("import-failed", start, runLink("run", last), end));
  }
  if (pause !== undefined) {
    const url = urlWithQuery("/runs", { job: personalizationImportName, brand });
    const end = ` of ${brand} has been paused since ${timeOf(pause.pausedAt, now)} by ${pause.pausedBy}, so newer feeds are not loaded.`;
    findings.push(finding("import-paused", { text: personalizationImportName, url }, end));
  }
  return findings;
}

function explainProducts({ products, visible }: SkuFacts): Finding[] {
  if (products.length === 0) return [finding("no-product", "No stored product has a variant with exactly this SKU.")];
  if (visible === "all") return [];
  return products.flatMap(({ id, title, hiddenBecause }) => {
    if (hiddenBecause === undefined) return [];
    const link = { text: title === "" ? `Product ${id}` : title, url: `/products/${id}` };
    return [finding("product-hidden", "Shoppers do not see the product ", link, `: ${hiddenBecause}.`)];
  });
}
