import { collections } from "./collections.ts";
import { toAscii, toBullets, toParagraphs } from "./html.ts";
import type { Making } from "./making.ts";
import { type ProductPlan, toList } from "./plan.ts";
import { createRandom } from "./random.ts";
import { toNewYork } from "./time.ts";

/** Key → value. A product without a pattern has none of the pattern's keys: the platform stores no empty values. */
export function toProductMetafields({ plan, old, nextNumber }: Making, publishedMs: number): Record<string, string> {
  const identity = { product_id: `${nextNumber()}`, warehouse_desc: toWarehouseText(plan.title) };
  if (plan.bare) return identity;
  const pattern = plan.collection && collections[plan.collection];
  return {
    bullet_list_copy: toBullets(toList(plan.bullets), old),
    ...(pattern && { designer_id: pattern.designer, pattern_id: pattern.id }),
    ware_id: toWareId(plan.ware),
    ...identity,
    whats_included_list_copy: toBullets(toList(plan.includes), old),
    ware_description: plan.ware,
    ...(pattern && { pattern_style_desc: pattern.style }),
    lifestyle_code: pattern?.lifestyle ?? "GIFT",
    ...(pattern && { pattern_trim_type: pattern.trim }),
    catalog_list: toCatalogs(plan),
    introduction_date: toNewYork(publishedMs).slice(0, 10),
    ...(pattern && { pattern_group_id: pattern.group }),
    long_desc: toParagraphs([`${plan.title}, by ${plan.vendor}. ${toList(plan.copy)[0]}`], old),
    shape_desc: plan.shape,
  };
}

/** As on the pick list of a warehouse: capitals, long words without their vowels, 30 characters. */
function toWarehouseText(title: string): string {
  return toAscii(title)
    .toUpperCase()
    .replace(/[^A-Z0-9 ]/g, "")
    .replace(/\b([A-Z])([A-Z]{5,})\b/g, (_, first: string, rest: string) => first + rest.replace(/[AEIOU]/g, ""))
    .replace(/ +/g, " ")
    .slice(0, 30)
    .trim();
}

function toWareId(ware: string): string {
  const initials = toAscii(ware)
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase());
  return `${initials.join("")}${createRandom(ware).int(100, 999)}`;
}

function toCatalogs({ tags = "", status, offers }: ProductPlan): string {
  const catalogs = [status === undefined ? "CORE" : "NONE"];
  if (/registry|wedding/.test(tags)) catalogs.push("BRIDAL");
  if (/holiday|christmas/.test(tags)) catalogs.push("HOLIDAY");
  if (/corporate/.test(tags)) catalogs.push("CORP");
  if (offers !== undefined) catalogs.push("PZ");
  return catalogs.join(",");
}
