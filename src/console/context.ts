import type { Database } from "../database/database.ts";
import type { JobHealth } from "../job.ts";
import type { GenerationDifference } from "../personalization.ts";

/** What the console shows, and who knows it. */
export interface ConsoleContext {
  readonly database: Database;
  readonly brand: string;
  readonly jobs: () => Promise<readonly JobHealth[]>;
  /** How generation `to` differs from `from`. */
  readonly compare: (from: number, to: number) => Promise<GenerationDifference>;
  /** Origin of the public listener as this process knows it. */
  readonly publicUrl: string;
  /** Path of the widget's script there. */
  readonly widgetPath: string;
  /** Path of the example page there, when there is one. */
  readonly examplePath?: string;
  /** Whether the images of the sample are drawn there. */
  readonly drawsSampleImages?: boolean;
}

/** The public listener's origin as whoever asks can reach it: one that is bound to every address is on the host that was asked. */
export function publicOrigin({ publicUrl }: ConsoleContext, { url }: { readonly url: URL }): string {
  const found = new URL(publicUrl);
  if (/^(0\.0\.0\.0|\[::\])$/.test(found.hostname)) found.hostname = url.hostname;
  return found.origin;
}
