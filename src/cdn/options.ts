import { z } from "zod";
import { isHttpUrl } from "../base/url.ts";

const url = z.string().refine(isHttpUrl, "expected an http:// or https:// URL");

const common = {
  max_age: z
    .int()
    .min(1)
    .max(365 * 86_400)
    .default(86_400)
    .describe(
      "How long the CDN may keep a product or personalization response, in seconds. Other caches follow `s-maxage`.",
    ),
};

export const purgeSchemas = {
  fastly: z.strictObject({
    service: z.string().regex(/^\w+$/, "expected the ID of a Fastly service").describe("ID of the Fastly service."),
    api_url: url.default("https://api.fastly.com").describe("URL of Fastly's API."),
    ...common,
  }),
  cloudflare: z.strictObject({
    zone: z
      .string()
      .regex(/^[\da-f]{32}$/, "expected the ID of a zone: 32 hexadecimal digits")
      .describe("ID of the Cloudflare zone."),
    plan: z
      .enum(["free", "pro", "business", "enterprise"])
      .default("free")
      .describe("Plan of the zone, which decides how many purges it may send."),
    api_url: url.default("https://api.cloudflare.com").describe("URL of Cloudflare's API."),
    ...common,
  }),
  varnish: z.strictObject({
    url: z
      .union([url, z.array(url).min(1)], { error: "expected an http:// or https:// URL, or a list of them" })
      .describe("URL of each Varnish server, one or a list."),
    ...common,
  }),
  generic: z.strictObject({
    url: url.describe("URL to which purges are sent."),
    method: z
      .string()
      .regex(/^[A-Z]{1,20}$/, "expected an HTTP method in capitals")
      .default("POST")
      .describe("HTTP method of a purge."),
    headers: z
      .record(z.string(), z.string().regex(/^[ -~]*$/, "expected visible ASCII characters"))
      .refine((headers) => Object.keys(headers).every((name) => /^[\w-]+$/.test(name)), "expected names of headers")
      .default({ Authorization: "Bearer {token}", "Content-Type": "application/json" })
      .describe("Headers of a purge. `{token}` stands for `PURGE_TOKEN`, `{tags}` for the tags separated by commas."),
    body: z
      .string()
      .default('{"tags":{tags}}')
      .describe("Body of a purge. `{tags}` stands for a JSON list of the tags."),
    max_tags: z.int().min(1).max(10_000).default(100).describe("Maximum number of tags in a purge."),
    requests_per_minute: z.int().min(1).max(600_000).default(60).describe("Maximum number of purges per minute."),
    burst: z.int().min(2).max(10_000).default(10).describe("How many purges may be sent at once after a pause."),
    ...common,
  }),
};

export type PurgingCdn = keyof typeof purgeSchemas;

export type PurgeOptionsOf<Name extends PurgingCdn> = { readonly cdn: Name } & z.infer<(typeof purgeSchemas)[Name]>;

export type PurgeOptions = { [Name in PurgingCdn]: PurgeOptionsOf<Name> }[PurgingCdn];
