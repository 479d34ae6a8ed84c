import { describeRemoved, removeAction } from "../operators/actions/brands.ts";
import { listGenerations } from "../personalization/generation.ts";
import { jobsOfBrands } from "../personalization/options.ts";
import { act } from "./act.ts";
import { type Values, withStore } from "./common.ts";
import { print, printMessage, printSafeJson, printTable } from "./output.ts";

export function printBrands(values: Values): Promise<boolean> {
  return withStore(async (database) => {
    const generations = await listGenerations(database);
    const rows = generations
      .filter(({ isCurrent }) => isCurrent)
      .map(({ brand, id, loadedAt, skus, styles, choices }) => ({
        brand,
        generation: id,
        loaded_at: loadedAt,
        skus,
        styles,
        choices,
        generations: generations.filter((generation) => generation.brand === brand).length,
      }));
    if (values.json === true) printSafeJson({ brands: rows });
    else if (rows.length === 0) printMessage("no personalization is stored");
    else printTable(rows);
    return true;
  });
}

export function removeBrand(brand: string, values: Values): Promise<boolean> {
  return withStore(async (database, { jobs, brand: defaultBrand }) => {
    const { removed } = await act(database, "remove-brand", removeAction(database, brand));
    if (values.json === true) printSafeJson({ brand, ...removed });
    else print(`removed the personalization of ${brand}: ${describeRemoved(removed)}`);
    const configured = jobsOfBrands.some((name) =>
      (jobs[name] ?? []).some((job) => (job.brand ?? defaultBrand) === brand),
    );
    if (configured) printMessage(`its next import stores it again: remove its table from pds.toml`);
    return true;
  });
}
