import { readConfig } from "../config/index.ts";
import { formatSetting, withoutSecrets } from "../config/printing.ts";
import { showPurge } from "../config/purge.ts";
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
  const purge = config.purge && showPurge(config.purge);
  const purgeRows = Object.entries(purge ?? {}).map(([name, value]) => ({
    setting: `purge.${name}`,
    value: typeof value === "string" ? value : JSON.stringify(value),
    from: "file",
  }));
  const tokens = config.tokens.map(({ name, role }) => ({ name, role }));
  const tokenRows = tokens.map(({ name, role }) => ({ setting: `admin.tokens.${name}`, value: role, from: "file" }));
  if (values.json === true) {
    printSafeJson({
      settings: rows,
      jobs: withoutSecrets(config.jobs),
      ...(purge && { purge }),
      ...(tokens.length > 0 && { tokens }),
    });
  } else printTable([...rows, ...schedules, ...purgeRows, ...tokenRows]);
  for (const sentence of listSettingsWithoutEffect(config)) printMessage(sentence);
  return true;
}
