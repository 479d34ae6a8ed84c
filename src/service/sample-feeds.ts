import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../config/index.ts";
import { isSampleBrand } from "../sample/shop.ts";

/** The folder of the sample brand's feeds; undefined if this service imports other feeds. */
export function sampleFolderOf({ shopDomain, jobs }: Config): string | undefined {
  const [options] = jobs["personalization-import"] ?? [];
  if (!isSampleBrand(shopDomain) || options === undefined) return undefined;
  const folder = dirname(options.source);
  return existsSync(join(folder, "earlier")) && existsSync(join(folder, "broken")) ? folder : undefined;
}
