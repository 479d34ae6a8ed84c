import type { Child } from "hono/jsx";
import type { PushState } from "../catalog/push/state.ts";
import type { Visibility } from "../catalog/visibility.ts";
import type { PurgeStatus } from "../cdn/position.ts";
import type { Personalization } from "../contract/personalization.ts";
import type { Database } from "../database/database.ts";
import type { AllowedOrigins, PageRequest } from "../http/page.ts";
import type { JobHealth } from "../jobs/run.ts";
import type { Confirmation } from "../operators/actions/action.ts";
import type { GenerationDifference } from "../personalization/comparison.ts";
import type { Generation } from "../personalization/generation.ts";
import type { TableFile } from "./csv.ts";
import type { SharedReads } from "./shared-reads.ts";
import { queryParameter } from "./urls.ts";

export interface ConsoleContext {
  readonly database: Database;
  readonly brand: string;
  /** The products that the public API serves. */
  readonly visible: Visibility;
  /** Returns why the store accepts no writes or is damaged; undefined if neither is the case. */
  readonly writeProblem: () => string | undefined;
  readonly jobs: () => Promise<readonly JobHealth[]>;
  /** Absent when the platform does not notify this service. */
  readonly push?: (() => Promise<PushState>) | undefined;
  /** Absent when this service does not purge a CDN. */
  readonly purge?: (() => Promise<PurgeStatus[]>) | undefined;
  readonly findPersonalization: (generation: number, sku: string) => Promise<OfferedPersonalization>;
  /** The forms of a SKU in a generation, with each stored presentation and in each locale. */
  readonly forms: (generation: Generation, sku: string) => AsyncIterable<Answer>;
  readonly compare: (from: number, to: number) => Promise<GenerationDifference>;
  /** URL of the public listener: the one that the settings name, or its address. */
  readonly publicUrl: string;
  readonly confirm: (action: string, parameters: URLSearchParams) => Promise<Confirmation>;
  /** Path of the widget's script on the public listener. */
  readonly findWidgetPath: () => Promise<string>;
  /** Path of the example page on the public listener, if it is served. */
  readonly examplePath?: string;
  /** Whether the public listener draws the sample's images. */
  readonly servesSampleImages?: boolean;
}

export interface PageContext extends ConsoleContext {
  readonly shared: SharedReads;
}

export interface Answer {
  /** Entity tag without quotes. */
  readonly tag: string;
  readonly text: string;
}

/** A SKU's personalization, and the response that has it. */
export interface OfferedPersonalization extends Answer {
  /** In display order. */
  readonly personalization: Personalization;
}

export interface PageContent {
  /** Defaults to the title in the list of pages. */
  readonly title?: string;
  readonly body: Child;
  /** URLs of module scripts; the page must work without them. */
  readonly scripts?: readonly string[];
  readonly allowedOrigins?: AllowedOrigins;
  /** The table that the page shows, for `?format=csv`. */
  readonly file?: TableFile;
}

export interface Redirect {
  readonly location: string;
}

export interface PageDefinition {
  /** Route template, such as `/runs/:id`. */
  readonly route: string;
  readonly title: string;
  /**
   * Route of the page that is highlighted in the navigation; a page without is in the navigation
   * itself. With its own route, it is not, and none is highlighted.
   */
  readonly section?: string;
  /** @returns undefined when the requested object does not exist */
  readonly render: (context: PageContext, request: PageRequest) => Promise<PageContent | Redirect | undefined>;
}

/**
 * How the public listener's URLs begin for the browser: a wildcard address becomes the host of the
 * request. A proxy may have put the listener below a path.
 */
export function publicRoot({ publicUrl }: ConsoleContext, { url }: PageRequest): string {
  const root = new URL(publicUrl);
  if (/^(0\.0\.0\.0|\[::\])$/.test(root.hostname)) root.hostname = url.hostname;
  return root.href.replace(/\/+$/, "");
}

export const selectBrand = (
  { brand }: ConsoleContext,
  request: PageRequest,
  generations: readonly { readonly brand: string }[],
): string => queryParameter(request, "brand") ?? defaultBrand(brand, generations);

/** The configured brand, or the first with data if the configured brand has none. */
export function defaultBrand(configured: string, generations: readonly { readonly brand: string }[]): string {
  const hasData = generations.some(({ brand }) => brand === configured);
  return hasData ? configured : (generations[0]?.brand ?? configured);
}
