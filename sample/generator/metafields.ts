import type { Metafield } from "../../src/product.ts";
import { toGid } from "./ids.ts";
import type { Making } from "./making.ts";
import { toNewYork } from "./time.ts";

interface Owner {
  readonly id: number;
  readonly resource: Metafield["owner_resource"];
  readonly createdMs: number;
  readonly updatedMs: number;
}

const descriptions: Readonly<Record<string, string>> = {
  bullet_list_copy: "Bullets under the title; HTML list",
  introduction_date: "First day in the catalog",
  lifestyle_code: "FORMAL, CASUAL, GIFT or HOLIDAY",
  long_desc: "Long description, as the ERP has it",
  sku_status: "Status code of the ERP",
  whats_included_list_copy: "“What’s included” tab; HTML list",
};

export function toMetafields(
  owner: Owner,
  values: Readonly<Record<string, string>>,
  { ids, old, random }: Making,
): Metafield[] {
  return Object.entries(values).map(([key, value]) => {
    const id = ids("Metafield");
    const addedMs = owner.createdMs + random.int(60, 7200) * 1000;
    const described = !old && random.chance(0.2);
    return {
      id,
      owner_id: owner.id,
      owner_resource: owner.resource,
      namespace: "global",
      key,
      value,
      type: old ? "string" : value.startsWith("<") ? "multi_line_text_field" : "single_line_text_field",
      description: described ? (descriptions[key] ?? null) : null,
      created_at: toNewYork(addedMs),
      updated_at: toNewYork(random.chance(0.6) ? addedMs : Math.max(addedMs, owner.updatedMs)),
      admin_graphql_api_id: toGid("Metafield", id),
    };
  });
}
