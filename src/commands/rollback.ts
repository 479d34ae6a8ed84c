import { ServiceError } from "../base/errors.ts";
import { rollBack } from "../personalization/rollback.ts";
import { type CurrentChange, generations, type VersionKind } from "../personalization/versions.ts";
import { brandOf, type Values, withStore } from "./common.ts";
import { printJson, printMessage } from "./output.ts";

export async function rollback(values: Values): Promise<boolean> {
  const to = versionOf(values, "generation");
  return await withStore(async (database, config) => {
    const brand = brandOf(config, values);
    const change = await rollBack(database, generations, brand, to);
    if (change === undefined) printMessage(`nothing to roll back to for ${brand}`);
    else if (values.json === true) printJson({ brand, generation: change.to, before: change.from });
    else printMessage(describeChange(change, brand, to !== undefined));
    return change !== undefined;
  });
}

function describeChange({ from, to }: CurrentChange, brand: string, isSelected: boolean): string {
  if (from === to) return `generation ${to} of ${brand} is already current`;
  return isSelected
    ? `made generation ${to} of ${brand} current instead of ${from}`
    : `rolled back the personalization of ${brand}`;
}

const maxGeneration = 2 ** 31 - 1;

/** @throws ServiceError `bad_request` */
export function versionOf({ to }: Values, noun: VersionKind["noun"]): number | undefined {
  if (typeof to !== "string") return undefined;
  const generation = Number(to);
  if (/^[1-9]\d*$/.test(to) && generation <= maxGeneration) return generation;
  throw new ServiceError("bad_request", `--to: expected the number of a ${noun}, got ${JSON.stringify(to)}`);
}
