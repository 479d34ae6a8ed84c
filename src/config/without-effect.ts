import type { Config } from "./index.ts";
import type { PlanOptions } from "./jobs.ts";
import { environmentName, fileKey, type SettingName } from "./settings.ts";

/** Settings that are given although they change nothing, each as one sentence. */
export function listSettingsWithoutEffect(config: Config): string[] {
  const { jobs, scheduler } = config;
  const sources = (jobs["personalization-import"] ?? []).map(({ source }) => source);
  const readsWeb = sources.some((source) => /^https?:/.test(source));
  const readsBucket = sources.some((source) => source.startsWith("s3:"));
  const hasPlatform = config.shopifyAccessToken !== "" || config.shopifyClientId !== "";
  const scalars: readonly [readonly SettingName[], boolean, string][] = [
    [["feedAuthorization"], !readsWeb, "no feed is read from an https:// URL"],
    [
      ["s3Endpoint", "s3Region", "s3AccessKeyId", "s3SecretAccessKey"],
      !readsBucket,
      "no feed is read from an s3:// URL",
    ],
    [
      ["productMaxAge", "lookupsPerMinute", "shopifyApiUrl", "publicUrl"],
      !hasPlatform,
      "no access to the platform is configured",
    ],
    [
      ["shopifyClientId", "shopifyClientSecret"],
      config.shopifyAccessToken !== "",
      "SHOPIFY_ACCESS_TOKEN is used instead",
    ],
    [["trustedProxies"], config.rateLimit === 0, "RATE_LIMIT is 0"],
  ];
  const unused = scalars.flatMap(([names, isUnused, reason]) =>
    names
      .filter((name) => isUnused && config.from[name] !== "default")
      .map((name) => `${nameOf(name, config)} has no effect: ${reason}`),
  );
  const scheduled = config.schedules.filter(({ from, schedule }) => from === "file" && schedule !== "off");
  if (scheduler === "off") {
    unused.push(...scheduled.map(({ job }) => `jobs.${job}.schedule has no effect: SCHEDULER is off`));
  }
  return [...unused, ...listPlansWithoutEffect(config)];
}

const nameOf = (name: SettingName, { from }: Config) =>
  from[name] === "file" ? fileKey(name) : `environment variable ${environmentName(name)}`;

/** Options that only a schedule uses. */
function listPlansWithoutEffect({ jobs }: Config): string[] {
  return Object.entries(jobs).flatMap(([name, tables]) =>
    ([tables].flat() as PlanOptions[])
      .filter(({ schedule, retries }) => (schedule === undefined || schedule === "off") && retries > 0)
      .map(() => `jobs.${name}.retries has no effect: only scheduled runs are retried`),
  );
}
