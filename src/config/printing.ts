import { hideCredentials } from "../base/credentials.ts";
import type { Config } from "./index.ts";
import type { JobOptions } from "./jobs.ts";
import { type SettingName, settingNames, settings } from "./settings.ts";

/** Returns a setting's value without secrets. */
export function formatSetting(name: SettingName, config: Config): string {
  const { hide } = settings[name];
  const value = config[name];
  const text = typeof value === "object" ? config.text[name] : `${value}`;
  if (hide === "secret") return text === "" ? "(not set)" : "(set, hidden)";
  return hideCredentials(text);
}

/** Shorter secrets would also match parts of ordinary words. */
const minSecretLength = 6;

/** Lists the texts that must not leave this process. */
export function listSecrets(config: Config): string[] {
  return settingNames.flatMap((name) => {
    const { hide } = settings[name];
    if (hide === undefined) return [];
    const text = `${config[name]}`;
    const password = URL.canParse(text) ? new URL(text).password : "";
    return (hide === "secret" ? [text, password] : [password]).filter((secret) => secret.length >= minSecretLength);
  });
}

/** Returns the options of the jobs without secrets. */
export function withoutSecrets(jobs: JobOptions): unknown {
  const redact = (key: string, value: unknown) => {
    // The URL of a monitor is as sensitive as a password.
    if (key === "ping") return "(set, hidden)";
    return typeof value === "string" ? hideCredentials(value) : value;
  };
  return JSON.parse(JSON.stringify(jobs, redact));
}
