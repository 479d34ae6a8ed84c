export { type CallOptions, type Client, type ClientOptions, createClient } from "./client.ts";
export { type ErrorCode, ProductDataError, type Result, toResult } from "./errors.ts";
export { type FormLine, type FormStyle, toForm } from "./form.ts";
export type {
  FoundProduct,
  Histories,
  HistoryRecord,
  Image,
  Metafield,
  Option,
  Order,
  Personalization,
  PersonalizationChoice,
  PersonalizationLine,
  PersonalizationOfSku,
  PersonalizationStyle,
  Personalizations,
  Product,
  Variant,
} from "./types.ts";
