import { type Config, readConfig } from "../config/index.ts";
import { environmentName, type SettingName, settingNames } from "../config/settings.ts";
import type { Log } from "../log.ts";
import type { ServiceContext } from "./context.ts";

/** The scalar settings that take effect without a restart; so do the tables of jobs and tokens. */
const reloadable: readonly SettingName[] = [
  "logLevel",
  "adminToken",
  "rateLimit",
  "connectionLimit",
  "trustedProxies",
  "clientPrefixIpv4",
  "clientPrefixIpv6",
];

/**
 * Reads the settings again and applies those of logging and limits.
 * @returns the settings for the jobs; undefined if they are invalid, and all stays as it was
 */
export function reloadConfig({ config, role, requests }: ServiceContext, log: Log): Config | undefined {
  // The supervisor of workers speaks for them.
  const isReporting = role.kind !== "worker";
  let next: Config;
  try {
    next = readConfig(process.env, config);
  } catch (error) {
    if (isReporting)
      log.error({ reason: (error as Error).message }, "cannot reload the settings; the old ones stay in effect");
    return undefined;
  }
  log.level = next.logLevel;
  requests.rateLimiter.perMinute = next.rateLimit;
  requests.connectionLimiter.max = next.connectionLimit;
  requests.networks.configure(next);
  if (!isReporting) return undefined;
  log.info(
    { jobs: next.schedules.map(({ job }) => job) },
    "reloaded the jobs, the tokens, the log level, and the limits",
  );
  const waiting = settingNames.filter((name) => !reloadable.includes(name) && next.text[name] !== config.text[name]);
  if (waiting.length > 0) {
    log.warn({ settings: waiting.map(environmentName) }, "settings that changed take effect after a restart");
  }
  const { logLevel, adminToken, tokens, jobs, schedules } = next;
  return { ...config, logLevel, adminToken, tokens, jobs, schedules };
}
