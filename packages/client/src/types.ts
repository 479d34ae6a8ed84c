/** Offers a style on a SKU. */
export interface PersonalizationLine {
  sku_id: string;
  /** Refers to a style in `pzstyles`. */
  style_code: string;
  /** Numeric text; display order. */
  style_display_seq: string;
  /** Status code; its meaning is not documented. */
  style_sku_status: string;
}

/** A line within a style; a style has one or more. */
export interface PersonalizationStyle {
  style_code: string;
  /** Status code; its meaning is not documented. */
  line_status: string;
  /** Numeric text; display order. */
  line_display_seq: string;
  /** Refers to choices in `pzchoices`. */
  choice_type: string;
  /** Instruction text for the customer. */
  instruct_text: string;
}

/** One choice of a shared group. */
export interface PersonalizationChoice {
  choice_type: string;
  /** Status code; its meaning is not documented. */
  choice_status: string;
  /** Numeric text; display order within the group. */
  choice_display_seq: string;
  choice_value: string;
}

/** A SKU's personalization, in display order; three empty lists if it has none. */
export interface Personalization {
  pzlines: PersonalizationLine[];
  pzstyles: PersonalizationStyle[];
  pzchoices: PersonalizationChoice[];
}

export interface PersonalizationOfSku extends Personalization {
  /** As requested. */
  sku: string;
}

/** The personalization of several SKUs, in the order requested, each once. */
export interface Personalizations {
  personalizations: PersonalizationOfSku[];
}

/** The texts of a presentation for a style, a line, or a choice. */
export interface Appearance {
  /** In the form's locale, or else in the default locale, or else the code or the instruction text. */
  name: string;
  help: string | null;
  /** URL, or a path that begins with a slash. */
  image: string | null;
}

export interface LocalizedChoice extends Omit<PersonalizationChoice, "choice_type">, Appearance {}

/** A field of a form: free text if `choices` is empty, otherwise one of the choices. */
export interface LocalizedLine extends Omit<PersonalizationStyle, "style_code">, Appearance {
  /** Maximum number of graphemes; null if the presentation has none. */
  limit: number | null;
  /** The allowed characters as a class of a regular expression with the flag `u` or `v`; null for all. */
  characters: string | null;
  /** Null if the presentation does not say. */
  required: boolean | null;
  /** Whether letters become capitals. */
  uppercase: boolean;
  choices: LocalizedChoice[];
}

export interface LocalizedStyle extends Omit<PersonalizationLine, "sku_id">, Appearance {
  lines: LocalizedLine[];
}

/** A SKU's personalization as a form in one language; without styles if it has none. */
export interface LocalizedForm {
  sku_id: string;
  /** The locale of the texts, which is another one if the requested one is not offered. */
  locale: string;
  styles: LocalizedStyle[];
}

/** One finished run of a scheduled job. */
export interface HistoryRecord {
  brand: string;
  counts: number;
  /** UTC: `2026-03-08T06:30:00Z`. */
  created_at: string;
}

/** The last finished runs, at most 10. */
export interface Histories {
  histories: HistoryRecord[];
}

/** `asc`: oldest first; `desc`: newest first. */
export type Order = "asc" | "desc";

/**
 * A named value attached to a product or variant. Here and below, `Id` is `number`, or `number |
 * bigint` with the client option `bigints`. Timestamps are ISO 8601 with a numeric UTC offset.
 */
export interface Metafield<Id = number> {
  id: Id;
  /** ID of the product or variant. */
  owner_id: Id;
  owner_resource: "product" | "variant";
  namespace: string;
  key: string;
  /** May hold HTML text. */
  value: string;
  type: string;
  description: string | null;
  created_at: string;
  updated_at: string;
  admin_graphql_api_id: string;
}

export interface Image<Id = number> {
  id: Id;
  product_id: Id;
  position: number;
  width: number;
  height: number;
  /** URL. */
  src: string;
  created_at: string;
  updated_at: string;
  /** IDs of the variants in the image; may be empty. */
  variant_ids: Id[];
  alt: string | null;
  admin_graphql_api_id: string;
}

/** A property in which a product's variants differ, such as size. */
export interface Option<Id = number> {
  id: Id;
  product_id: Id;
  position: number;
  name: string;
  values: string[];
}

/** One purchasable version of a product. */
export interface Variant<Id = number> {
  id: Id;
  product_id: Id;
  inventory_item_id: Id;
  position: number;
  /** Null without an image of its own. */
  image_id: Id | null;
  barcode: string;
  sku: string;
  title: string;
  /** Decimal text with two places. */
  price: string;
  /** Decimal text with two places. */
  compare_at_price: string | null;
  fulfillment_service: string;
  inventory_management: string | null;
  inventory_policy: string;
  inventory_quantity: number;
  old_inventory_quantity: number;
  requires_shipping: boolean;
  taxable: boolean;
  tax_code: string;
  grams: number;
  /** In `weight_unit`. */
  weight: number;
  weight_unit: string;
  option1: string | null;
  option2: string | null;
  option3: string | null;
  created_at: string;
  updated_at: string;
  admin_graphql_api_id: string;
  metafields: Metafield<Id>[];
}

export interface Product<Id = number> {
  id: Id;
  title: string;
  /** Description as HTML. */
  body_html: string;
  handle: string;
  created_at: string;
  updated_at: string;
  /** Null if not published. */
  published_at: string | null;
  product_type: string;
  published_scope: string;
  status: string;
  /** Separated by a comma and a space. */
  tags: string;
  template_suffix: string | null;
  vendor: string;
  admin_graphql_api_id: string;
  images: Image<Id>[];
  /** The first image; null if there are none. */
  image: Image<Id> | null;
  options: Option<Id>[];
  variants: Variant<Id>[];
  metafields: Metafield<Id>[];
}

/** The response for an existing product; anything else is a `ProductDataError`. */
export interface FoundProduct<Id = number> {
  product: Product<Id>;
  /** Domain of the store. */
  shop: string;
  error: null;
}

/** The subset of `fetch` that the client uses. It must respect the signal. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
