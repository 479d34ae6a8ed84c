import type { ProductChanges } from "./changes.ts";

/** Variations that ordinary products do not have. */
export interface Traits {
  /** Videos, 3D models, and an unfinished upload are among the images. */
  readonly mixedMedia?: boolean;
  /** Media files have other paths than the images, so that only their order matches them. */
  readonly movedMedia?: boolean;
  /** Everything nullable is null. */
  readonly nulls?: boolean;
}

export interface Special {
  readonly id?: string;
  readonly traits?: Traits;
  readonly changes?: ProductChanges;
}

const hostile = `</script><script>alert("p")</script> '; DROP TABLE product; -- \\u0000 \\ %s {{7*7}}`;
const awkward = "👩‍👩‍👧‍👦 \u202Eright-to-left\u202C e\u0301 \u2028 \u2029 \uFEFF\u00A0 ";

export const specialNames = [
  "manyVariants",
  "manyMetafields",
  "manyImages",
  "hugeId",
  "nulls",
  "hostile",
  "movedMedia",
  "bare",
] as const;

export type SpecialName = (typeof specialNames)[number];

export const specials: Readonly<Record<SpecialName, Special>> = {
  manyVariants: { changes: { shape: { variants: 2048 } } },
  manyMetafields: { changes: { shape: { variants: 3, variantMetafieldsAt: { 2: 300 } } } },
  manyImages: { traits: { mixedMedia: true }, changes: { shape: { images: 260 } } },
  hugeId: { id: "9007199254740993" },
  nulls: { traits: { nulls: true }, changes: { shape: { images: 2, variants: 3 } } },
  hostile: {
    changes: {
      shape: { images: 2, variants: 2, metafields: 16, variantMetafields: 5 },
      product: {
        title: `${awkward}${hostile}`,
        descriptionHtml: `<p onclick="x()">${awkward}</p><!-- ${hostile} -->\r\n\t<img src=x onerror=alert(1)>`,
        vendor: `${awkward}& Söhne`,
        productType: hostile,
        tags: ["<b>", "a, b", "name:value", awkward.trim()],
        templateSuffix: "../../etc",
      },
      images: { 1: { altText: `"${hostile}` } },
      variants: { 1: { title: hostile, sku: `A/B %2F+${awkward}`, barcode: "\t0\n" } },
      metafields: { long_desc: `${awkward}${hostile}`, product_id: "" },
      variantMetafields: { 1: { romance_copy: `<ul><li>${awkward}${hostile}</li></ul>` } },
    },
  },
  movedMedia: { traits: { movedMedia: true }, changes: { shape: { images: 5 } } },
  bare: { changes: { shape: { variants: 1, images: 0, metafields: 0, variantMetafields: 0 } } },
};
