import { toBullets, toParagraphs } from "./html.ts";
import type { Making } from "./making.ts";
import { type OptionValue, toList } from "./plan.ts";

const coloring = new Set(["Border", "Color", "Finish", "Handle", "Metal", "Rim", "Wood"]);

/** Key → value. Most variants leave the copy to their product. */
export function toVariantMetafields(
  { plan, old, random }: Making,
  values: readonly OptionValue[],
): Record<string, string> {
  if (plan.digital) return {};
  const status = random.chance(0.94) ? "A" : random.pick(["I", "H"]);
  if (plan.bare) return { sku_status: status };

  const color = values.find(({ option }) => coloring.has(option))?.label ?? plan.color;
  const paragraphs = toList(plan.copy);
  const choices = values.filter(({ option }) => option !== "Title").map(({ option, label }) => `${option}: ${label}`);
  const copied = random.chance(0.35);
  return {
    sku_status: status,
    color_desc: color,
    ...(random.chance(0.45) && { romance_copy: toParagraphs([paragraphs[1] ?? paragraphs[0] ?? ""], old) }),
    ...(copied && { bullet_list_copy: toBullets([...choices, ...toList(plan.bullets)], old) }),
    ...(copied && { whats_included_list_copy: toBullets(toList(plan.includes), old) }),
  };
}
