import { jobsOfBrands } from "../personalization/options.ts";
import type { Config } from "./index.ts";
import { environmentName, fileKey, type SettingName } from "./settings.ts";
import { isServerUrl } from "./values.ts";

const platformSettings: readonly SettingName[] = [
  "productMaxAge",
  "lookupsPerMinute",
  "publication",
  "metafieldNamespaces",
  "shopifyApiUrl",
  "shopifyApiVersion",
  "shopifyWebhookSecret",
  "shopifyWebhookSecretPrevious",
];

/** Lists settings and secrets that are set but have no effect, each as a sentence. */
export function listSettingsWithoutEffect(config: Config): string[] {
  const { jobs, scheduler } = config;
  const sources = jobsOfBrands.flatMap((name) => (jobs[name] ?? []).map(({ source }) => source));
  const readsWeb = sources.some((source) => /^https?:/.test(source));
  const readsBucket = sources.some((source) => source.startsWith("s3:"));
  const hasPlatform = config.shopifyAccessToken !== "" || config.shopifyClientId !== "";
  const scalars: readonly [readonly SettingName[], boolean, string][] = [
    [["feedAuthorization"], !readsWeb, "on jobs: none reads a feed from an https:// URL"],
    [
      ["s3Endpoint", "s3Region", "s3AccessKeyId", "s3SecretAccessKey"],
      !readsBucket,
      "on jobs: none reads a feed from an s3:// URL",
    ],
    [platformSettings, !hasPlatform, "without access to the platform"],
    [["databasePrepare"], config.databaseDirectUrl === "", "without DATABASE_DIRECT_URL"],
    [["databaseConnections"], !isServerUrl(config.databaseUrl), "with an embedded store"],
    [["purgeToken"], config.purge === undefined, "without a table [purge]"],
    [
      ["shopifyClientId", "shopifyClientSecret"],
      config.shopifyAccessToken !== "",
      "because SHOPIFY_ACCESS_TOKEN is used instead",
    ],
  ];
  const unused = scalars.flatMap(([names, isUnused, reason]) =>
    names
      .filter((name) => isUnused && config.from[name] !== "default")
      .map((name) => `${nameOf(name, config)} has no effect ${reason}`),
  );
  const scheduled = config.schedules.filter(({ from, schedule }) => from === "file" && schedule !== "off");
  if (scheduler === "off") {
    unused.push(...scheduled.map(({ job }) => `jobs.${job}.schedule has no effect while SCHEDULER is off`));
  }
  return [...unused, ...config.unknownSecrets];
}

const nameOf = (name: SettingName, { from }: Config) =>
  from[name] === "file" ? fileKey(name) : `environment variable ${environmentName(name)}`;
