import { hideCredentials } from "../credentials.ts";
import type { Config } from "./index.ts";
import type { JobOptions } from "./jobs.ts";
import { type Setting, type SettingName, settings } from "./settings.ts";

/** Returns a setting's value without secrets. */
export function formatSetting(name: SettingName, config: Config): string {
  const { hide } = settings[name] as Setting<unknown>;
  const value = config[name];
  const text = typeof value === "object" ? config.text[name] : `${value}`;
  if (hide === "secret") return text === "" ? "(not set)" : "(set, hidden)";
  return hideCredentials(text);
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
