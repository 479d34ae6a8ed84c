/** Offers a style on a SKU. */
export interface PersonalizationLine {
  sku_id: string;
  /** Refers to a style in `pzstyles`. */
  style_code: string;
  /** Numeric text; display order. */
  style_display_seq: string;
  /** Its meaning is not stated. */
  style_sku_status: string;
}

/** One line of text within a style; a style has one or more. */
export interface PersonalizationStyle {
  style_code: string;
  /** Its meaning is not stated. */
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
  /** Its meaning is not stated. */
  choice_status: string;
  /** Numeric text; display order within the group. */
  choice_display_seq: string;
  choice_value: string;
}

/** What a SKU offers, in display order; three empty lists where it offers nothing. */
export interface Personalization {
  pzlines: PersonalizationLine[];
  pzstyles: PersonalizationStyle[];
  pzchoices: PersonalizationChoice[];
}

/** One finished run of a scheduled job. */
export interface HistoryRecord {
  brand: string;
  counts: number;
  /** UTC: `2026-03-08T06:30:00Z`. */
  created_at: string;
}

/** The last 10 finished runs at most. */
export interface Histories {
  histories: HistoryRecord[];
}

/** `asc`: the oldest first; `desc`: the newest first. */
export type Order = "asc" | "desc";

/**
 * A named value attached to a product or to a variant. In this and the following `Id` is `number`, or `number | bigint` from
 * a client with `bigints`; timestamps are ISO 8601 with a numeric UTC offset.
 */
export interface Metafield<Id = number> {
  id: Id;
  /** The product or variant that it belongs to. */
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
  /** The variants that it shows; may be empty. */
  variant_ids: Id[];
  alt: string | null;
  admin_graphql_api_id: string;
}

/** A way in which the variants of a product differ. */
export interface Option<Id = number> {
  id: Id;
  product_id: Id;
  position: number;
  name: string;
  values: string[];
}

/** One sellable form of a product. */
export interface Variant<Id = number> {
  id: Id;
  product_id: Id;
  inventory_item_id: Id;
  position: number;
  /** Null where no image shows it. */
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
  /** Null where it is not published. */
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
  /** The first image; null where there is none. */
  image: Image<Id> | null;
  options: Option<Id>[];
  variants: Variant<Id>[];
  metafields: Metafield<Id>[];
}

/** The answer to a product that there is; any other is a `ProductDataError`. */
export interface FoundProduct<Id = number> {
  product: Product<Id>;
  /** Domain of the store that the product belongs to. */
  shop: string;
  error: null;
}

/** `fetch`, as far as it is used. It must end when its signal says so. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
