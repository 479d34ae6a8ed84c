import { readConfig } from "../config/index.ts";
import { formatSetting, withoutSecrets } from "../config/printing.ts";
import { environmentName, settingNames } from "../config/settings.ts";
import { listSettingsWithoutEffect } from "../config/without-effect.ts";
import type { Values } from "./common.ts";
import { printMessage, printSafeJson, printTable } from "./output.ts";

export function printConfig(values: Values): boolean {
  const config = readConfig(process.env);
  const rows = settingNames.map((name) => ({
    setting: environmentName(name),
    value: formatSetting(name, config),
    from: config.from[name],
  }));
  const schedules = config.schedules.map(({ job, schedule, from }) => ({
    setting: `jobs.${job}.schedule`,
    value: schedule,
    from,
  }));
  if (values.json === true) printSafeJson({ settings: rows, jobs: withoutSecrets(config.jobs) });
  else printTable([...rows, ...schedules]);
  for (const sentence of listSettingsWithoutEffect(config)) printMessage(sentence);
  return true;
}
