import { hideCredentials } from "../base/credentials.ts";
import type { KeyPath } from "../base/toml.ts";
import type { CdnName } from "../cdn/headers.ts";
import { type PurgeOptions, purgeSchemas } from "../cdn/options.ts";
import type { SettingsFile } from "./file.ts";
import type { SettingProblems } from "./problems.ts";
import { parseTable } from "./table.ts";

/** Providers that accept no purge without a token. */
const needsToken: readonly CdnName[] = ["fastly", "cloudflare"];

/**
 * @param value the table `purge` of the file
 * @returns undefined if there is no table, or if it is invalid
 */
export function parsePurge(
  value: unknown,
  { cdn, purgeToken }: { readonly cdn?: CdnName; readonly purgeToken?: string },
  file: SettingsFile,
  problems: SettingProblems,
): PurgeOptions | undefined {
  // An invalid CDN has already been reported.
  if (value === undefined || cdn === undefined) return undefined;
  if (cdn === "none") {
    problems.add(() => `${file.locate(["purge"])}: purge: set CDN; it says which provider's caches to purge`);
    return undefined;
  }
  if (needsToken.includes(cdn) && purgeToken === "") {
    problems.add(() => `${file.locate(["purge"])}: purge: set PURGE_TOKEN; ${cdn} accepts no purge without it`);
  }
  const toFilePath = (path: KeyPath) => ["purge", ...path];
  const nameKeys = (table: KeyPath) => [`a setting of [${table.join(".")}] for ${cdn}`, "settings"] as const;
  const data = parseTable(purgeSchemas[cdn], value, { toFilePath, nameKeys }, file, problems);
  return data && ({ cdn, ...data } as PurgeOptions);
}

/** Returns the options without secrets, for display. */
export function showPurge(options: PurgeOptions): Readonly<Record<string, unknown>> {
  const shown =
    options.cdn === "generic" ? { ...options, headers: Object.keys(options.headers), body: "(hidden)" } : options;
  return JSON.parse(JSON.stringify(shown, (_, value) => (typeof value === "string" ? hideCredentials(value) : value)));
}
