interface Collection {
  readonly id: string;
  readonly style: string;
  readonly trim: string;
  readonly group: string;
  readonly designer: string;
  readonly lifestyle: "FORMAL" | "CASUAL" | "GIFT" | "HOLIDAY";
}

const collection = (
  id: string,
  style: string,
  trim: string,
  group: string,
  designer: string,
  lifestyle: Collection["lifestyle"],
): Collection => ({ id, style, trim, group, designer, lifestyle });

/** The patterns that products share: what the ERP knows of each. */
export const collections = {
  "Marlowe Platinum": collection("MRLP", "Classic banded", "Platinum", "PG-101", "D-014", "FORMAL"),
  "Aurelian Gold": collection("AURG", "Filigree", "24k gold", "PG-101", "D-014", "FORMAL"),
  "Wisteria Walk": collection("WSTW", "Botanical, watercolor", "Lilac edge", "PG-104", "D-021", "CASUAL"),
  Hedgerow: collection("HDGR", "Botanical, relief", "None", "PG-104", "D-021", "CASUAL"),
  Saltmarsh: collection("SLTM", "Reactive glaze", "Raw rim", "PG-110", "D-033", "CASUAL"),
  "Tidewater Blue": collection("TDWB", "Coastal, hand-painted", "Cobalt", "PG-110", "D-008", "CASUAL"),
  "Orchard Lane": collection("ORCL", "Fruit study", "Sage band", "PG-104", "D-021", "CASUAL"),
  Bellamy: collection("BLMY", "Solid color", "None", "PG-112", "D-002", "CASUAL"),
  "Frost & Fern": collection("FRFN", "Winter greenery", "Platinum", "PG-120", "D-017", "HOLIDAY"),
  "Café Lumière": collection("CFLM", "Bistro stripe", "None", "PG-112", "D-040", "CASUAL"),
  "Winter Aviary": collection("WNAV", "Birds & berries", "24k gold", "PG-120", "D-017", "HOLIDAY"),
  Solstice: collection("SOLS", "Plain, drawn stem", "Metal rim", "PG-201", "D-026", "FORMAL"),
  Ravenna: collection("RVNA", "Wedge cut", "None", "PG-203", "D-026", "FORMAL"),
  Fjäll: collection("FJLL", "Mouth-blown, plain", "None", "PG-205", "D-045", "CASUAL"),
  Bramwell: collection("BRMW", "Fiddle thread", "None", "PG-301", "D-011", "FORMAL"),
  Hadley: collection("HDLY", "Bamboo handle", "None", "PG-302", "D-002", "CASUAL"),
  Larchmont: collection("LRCH", "Beaded edge", "Bead", "PG-305", "D-011", "FORMAL"),
  "Heirloom Linen": collection("HRLN", "Hemstitch", "Drawn thread", "PG-401", "D-052", "FORMAL"),
  "Woodland Friends": collection("WDFR", "Animals, line drawing", "None", "PG-501", "D-029", "GIFT"),
  Keepsake: collection("KPSK", "Plain, polished", "Bead", "PG-510", "D-011", "GIFT"),
  "Finch & Holly": collection("FNHL", "Birds & berries", "24k gold", "PG-120", "D-017", "HOLIDAY"),
} as const satisfies Record<string, Collection>;
