import { pluralize, relativeTime, utcTime } from "../base/format.ts";
import type { Personalization } from "../contract/personalization.ts";
import type { Run } from "../jobs/run.ts";
import type { Generation } from "../personalization/generation.ts";
import { personalizationImportName } from "../personalization/options.ts";
import { shorten } from "./problems.ts";
import type { Loaded, Offer, Past, SkuFacts } from "./sku-facts.ts";
import { urlWithQuery } from "./urls.ts";

/** A part of a sentence that leads to a page of the console. */
export interface SentenceLink {
  readonly text: string;
  readonly url: string;
}

export interface Finding {
  readonly kind: FindingKind;
  readonly sentence: readonly Part[];
}

type FindingKind =
  | "offered"
  | "style-without-rows"
  | "blank-choices"
  | "other-brand"
  | "removed"
  | "rolled-back"
  | "not-stored"
  | "similar"
  | "no-feed"
  | "nothing-loaded"
  | "import-failed"
  | "import-paused"
  | "no-product"
  | "product-hidden"
  | "cached";

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

const skuLink = (sku: string, brand?: string, text = nameOf(sku)): SentenceLink => ({
  text,
  url: urlWithQuery("/personalization", { sku, brand }),
});

const runLink = (noun: string, { id }: Run): SentenceLink => ({ text: `${noun} ${id}`, url: `/runs/${id}` });

/** An exact time, and how long ago that is. */
const timeOf = (at: string, now: number) => `${utcTime(at)} (${relativeTime(Date.parse(at), now)})`;

type Part = string | SentenceLink;

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

function explainOffer(facts: SkuFacts, offer: Offer, circumstances: readonly Finding[]): Explanation {
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
  const findings: Finding[] = [
    {
      kind: "offered",
      sentence: [
        isServed ? `The public API returns ${answered}` : `${brand} offers ${answered}`,
        `, from generation ${id} of ${brand}, loaded ${timeOf(loadedAt, now)}${success}.`,
      ],
    },
  ];
  if (withoutRows.length > 0) {
    const sentence = ["Styles without rows in the feed, which are not shown: ", ...listFirst(withoutRows), "."];
    findings.push({ kind: "style-without-rows", sentence });
  }
  if (blank.length > 0) {
    const links = blank.map((code) => ({ text: code, url: urlWithQuery("/personalization", { style: code, brand }) }));
    const sentence = ["Styles whose choices are all blank, which are not shown: ", ...listFirst(links), "."];
    findings.push({ kind: "blank-choices", sentence });
  }
  if (!isServed) {
    findings.push({
      kind: "other-brand",
      sentence: [
        "Shoppers do not see this one, but that of ",
        skuLink(facts.sku, served, served),
        ", which comes first.",
      ],
    });
  }
  findings.push(...circumstances);
  if (shown.length === 0) {
    return { isOffered: false, answer: `Shoppers can personalize nothing of ${sku}.`, findings };
  }
  findings.push({
    kind: "cached",
    sentence: ["If a page shows something else, a browser, a cache, or a CDN may still have an older response."],
  });
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
  return [{ kind: "other-brand", sentence: ["Other brands have it: ", ...listFirst(links), "."] }];
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
    findings.push({
      kind: "similar",
      sentence: [
        "Did you mean ",
        ...listFirst(similar.map((sku) => skuLink(sku))),
        "? SKUs must match exactly, including case, spaces, punctuation, and leading zeros.",
      ],
    });
  }
  if (!importing.hasGeneration) findings.push(explainNoFeed(facts));
  else if (seen === undefined && oldest !== undefined) {
    const of = asked === undefined ? "" : ` of ${asked}`;
    const sentence =
      searched === 1
        ? `It is not in the only stored generation${of}, which was loaded ${timeOf(oldest, now)}.`
        : `It is in none of the ${searched} stored generations${of}, the oldest loaded ${timeOf(oldest, now)}.`;
    findings.push({ kind: "not-stored", sentence: [sentence] });
  }
  return findings;
}

function explainRollback({ brand, id, loadedAt }: Generation, current: Generation, now: number): Finding {
  const since = current.since === null ? "" : ` since ${timeOf(current.since, now)}`;
  return {
    kind: "rolled-back",
    sentence: [
      `Generation ${id} of ${brand}, loaded ${timeOf(loadedAt, now)}, has it, but the older generation ${current.id} is current${since}, after a rollback.`,
    ],
  };
}

function explainRemoval(last: Generation, { generation, run, file, removed = 0 }: Loaded, now: number): Finding {
  const { brand, id, loadedAt } = generation;
  const others = removed > 1 ? `, and ${pluralize(removed - 1, "other SKU")}` : "";
  const from = file === undefined ? "" : `, from ${file}`;
  return {
    kind: "removed",
    sentence: [
      run === undefined ? "An import" : runLink("Run", run),
      ` of ${brand} removed it${others}: generation ${id}, loaded ${timeOf(loadedAt, now)}${from}, is `,
      {
        text: "the first without it",
        url: urlWithQuery("/personalization/difference", { brand, from: last.id, to: id }),
      },
      `. Until then, it was in generation ${last.id}, loaded ${timeOf(last.loadedAt, now)}.`,
    ],
  };
}

function explainNoFeed({ asked, brands, importing: { brand, lastSuccess }, now }: SkuFacts): Finding {
  const reason =
    lastSuccess === undefined
      ? `No feed of ${brand} was ever loaded: import one, or configure ${personalizationImportName}.`
      : `No feed of ${brand} is stored, although an import last succeeded ${timeOf(lastSuccess, now)}: the feed was incomplete, or the brand was removed.`;
  // The name may be misspelled.
  const others = asked === undefined || brands.length === 0 ? [] : [" Brands with a feed: ", ...listFirst(brands), "."];
  return { kind: "no-feed", sentence: [reason, ...others] };
}

/** Why the last import loaded nothing. */
function explainUnchanged({ importing: { last, note } }: SkuFacts): Finding[] {
  if (last === undefined || note === undefined) return [];
  return [
    {
      kind: "nothing-loaded",
      sentence: ["The last import, ", runLink("run", last), `, loaded nothing: ${shorten(note)}.`],
    },
  ];
}

/** Why the stored feed may be old. */
function explainImports({ importing, now }: SkuFacts): Finding[] {
  const { brand, last, failingSince, lastSuccess, pause } = importing;
  const findings: Finding[] = [];
  if (failingSince !== undefined && last !== undefined) {
    const since = timeOf(failingSince, now);
    const reason = last.reason === null ? "" : `: ${shorten(last.reason)}`;
    findings.push({
      kind: "import-failed",
      sentence: [
        lastSuccess === undefined
          ? `No import of ${brand} has ever succeeded: `
          : `The imports of ${brand} have not succeeded since ${since}: `,
        runLink("run", last),
        ` ${last.outcome === "failed" ? "failed" : `was ${last.outcome}`}${reason}.`,
      ],
    });
  }
  if (pause !== undefined) {
    const url = urlWithQuery("/runs", { job: personalizationImportName, brand });
    findings.push({
      kind: "import-paused",
      sentence: [
        { text: personalizationImportName, url },
        ` of ${brand} has been paused since ${timeOf(pause.pausedAt, now)} by ${pause.pausedBy}, so newer feeds are not loaded.`,
      ],
    });
  }
  return findings;
}

function explainProducts({ products, visible }: SkuFacts): Finding[] {
  if (products.length === 0) {
    return [{ kind: "no-product", sentence: ["No stored product has a variant with exactly this SKU."] }];
  }
  if (visible === "all") return [];
  return products.flatMap(({ id, title, hiddenBecause }): Finding[] => {
    if (hiddenBecause === undefined) return [];
    const link = { text: title === "" ? `Product ${id}` : title, url: `/products/${id}` };
    return [{ kind: "product-hidden", sentence: ["Shoppers do not see the product ", link, `: ${hiddenBecause}.`] }];
  });
}
