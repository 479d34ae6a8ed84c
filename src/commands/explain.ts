import { ServiceError } from "../base/errors.ts";
import { isLonger } from "../base/format.ts";
import { explainSku, linksOf, textOf } from "../console/explain-sku.ts";
import { readSkuFacts } from "../console/sku-facts.ts";
import { listGenerations } from "../personalization/generation.ts";
import { maxSkuLength } from "../personalization/lists.ts";
import { brandOf, type Values, withStore } from "./common.ts";
import { print, printSafeJson } from "./output.ts";

/** @returns whether shoppers can personalize the SKU */
export function printSku(sku: string, values: Values): Promise<boolean> {
  if (sku === "" || isLonger(sku, maxSkuLength)) {
    throw new ServiceError("bad_request", `explain sku: expected a SKU of 1 to ${maxSkuLength} characters`);
  }
  return withStore(async (database, config) => {
    const { brand, visible } = config;
    const asked = values.brand === undefined ? undefined : brandOf(config, values);
    const facts = await readSkuFacts({ database, brand, visible }, sku, asked, await listGenerations(database));
    const { isOffered, answer, findings } = explainSku(facts);
    if (values.json === true) {
      const shown = findings.map((finding) => ({
        kind: finding.kind,
        sentence: textOf(finding),
        links: linksOf(finding),
      }));
      printSafeJson({ sku, brand: facts.importing.brand, offered: isOffered, answer, findings: shown });
    } else for (const line of [answer, ...findings.map((finding) => `- ${textOf(finding)}`)]) print(line);
    return isOffered;
  });
}
