import { hideCredentials } from "../base/credentials.ts";
import { describeIssue } from "../base/issues.ts";
import { suggest } from "../base/suggest.ts";
import type { KeyPath } from "../base/toml.ts";
import type { CdnName } from "../cdn/headers.ts";
import { type PurgeOptions, type PurgingCdn, purgeSchemas, purgeShapes } from "../cdn/options.ts";
import type { SettingsFile } from "./file.ts";
import type { SettingProblems } from "./problems.ts";

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
  // An invalid CDN is a problem already.
  if (value === undefined || cdn === undefined) return undefined;
  if (cdn === "none") {
    problems.add(() => `${file.locate(["purge"])}: purge: set CDN; it says which provider's caches to purge`);
    return undefined;
  }
  if (needsToken.includes(cdn) && purgeToken === "") {
    problems.add(() => `${file.locate(["purge"])}: purge: set PURGE_TOKEN; ${cdn} accepts no purge without it`);
  }
  const { data, error } = purgeSchemas[cdn].safeParse(value);
  if (data) return { cdn, ...data } as PurgeOptions;
  for (const issue of error.issues) {
    const path: KeyPath = ["purge", ...(issue.path as KeyPath)];
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) problems.add(() => describeUnknown(key, cdn, file));
    } else {
      const given = issue.path.length === 0 ? value : (value as Record<string, unknown>)[String(issue.path[0])];
      problems.add(() => `${file.locate(path)}: ${path.join(".")}: ${describeIssue(issue, given)}`);
    }
  }
  return undefined;
}

function describeUnknown(key: string, cdn: PurgingCdn, file: SettingsFile): string {
  const place = `${file.locate(["purge", key])}: ${JSON.stringify(key)}`;
  return `${place} is not a setting of [purge] for ${cdn}; ${suggest(key, Object.keys(purgeShapes[cdn]), "settings")}`;
}

/** Returns the options without secrets, for display. */
export function showPurge(options: PurgeOptions): Readonly<Record<string, unknown>> {
  const shown =
    options.cdn === "generic" ? { ...options, headers: Object.keys(options.headers), body: "(hidden)" } : options;
  return JSON.parse(JSON.stringify(shown, (_, value) => (typeof value === "string" ? hideCredentials(value) : value)));
}
