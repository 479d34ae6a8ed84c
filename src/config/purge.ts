import { z } from "zod";
import { hideCredentials } from "../base/credentials.ts";
import { suggest } from "../base/suggest.ts";
import type { CdnName } from "../model/cdn.ts";
import type { SettingsFile } from "./file.ts";
import { describeIssue } from "./issues.ts";
import type { Problems } from "./problems.ts";
import type { KeyPath } from "./toml.ts";
import { httpUrl } from "./values.ts";

const url = z.string().refine((text) => {
  try {
    return httpUrl(text) !== "";
  } catch {
    return false;
  }
}, "expected an http:// or https:// URL");

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

/** The options by CDN. */
const shapes = {
  fastly: {
    service: z.string().regex(/^\w+$/, "expected the ID of a Fastly service").describe("ID of the Fastly service."),
    api_url: url.default("https://api.fastly.com").describe("URL of Fastly's API."),
    ...common,
  },
  cloudflare: {
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
  },
  varnish: {
    url: z
      .union([url, z.array(url).min(1)], { error: "expected an http:// or https:// URL, or a list of them" })
      .describe("URL of each Varnish server, one or a list."),
    ...common,
  },
  generic: {
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
  },
};

const schemas = {
  fastly: z.strictObject(shapes.fastly),
  cloudflare: z.strictObject(shapes.cloudflare),
  varnish: z.strictObject(shapes.varnish),
  generic: z.strictObject(shapes.generic),
};

export type PurgingCdn = keyof typeof schemas;

/** The options of one CDN. */
export type PurgeOptionsOf<Name extends PurgingCdn> = { readonly cdn: Name } & z.infer<(typeof schemas)[Name]>;

/** The table `[purge]`. */
export type PurgeOptions = { [Name in PurgingCdn]: PurgeOptionsOf<Name> }[PurgingCdn];

/** Providers that accept no purge without a token. */
const needsToken: readonly CdnName[] = ["fastly", "cloudflare"];

/**
 * @param value the table `purge` of the file
 * @returns undefined if there is no table, or if it is invalid
 */
export function parsePurge(
  value: unknown,
  { cdn, purgeToken }: { readonly cdn?: CdnName; readonly purgeToken?: string },
  file: SettingsFile,
  problems: Problems,
): PurgeOptions | undefined {
  // An invalid CDN is a problem already.
  if (value === undefined || cdn === undefined) return undefined;
  if (cdn === "none") {
    problems.add(() => `${file.locate(["purge"])}: purge: set CDN; it says which provider's caches to purge`);
    return undefined;
  }
  if (needsToken.includes(cdn) && purgeToken === "") {
    problems.add(() => `${file.locate(["purge"])}: purge: set PURGE_TOKEN; ${cdn} accepts no purge without it`);
  }
  const { data, error } = schemas[cdn].safeParse(value);
  if (data) return { cdn, ...data } as PurgeOptions;
  for (const issue of error.issues) {
    const path: KeyPath = ["purge", ...(issue.path as KeyPath)];
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) problems.add(() => describeUnknown(key, cdn, file));
    } else {
      const given = issue.path.length === 0 ? value : (value as Record<string, unknown>)[String(issue.path[0])];
      problems.add(() => `${file.locate(path)}: ${path.join(".")}: ${describeIssue(issue, given)}`);
    }
  }
  return undefined;
}

function describeUnknown(key: string, cdn: PurgingCdn, file: SettingsFile): string {
  const place = `${file.locate(["purge", key])}: ${JSON.stringify(key)}`;
  return `${place} is not a setting of [purge] for ${cdn}; ${suggest(key, Object.keys(shapes[cdn]), "settings")}`;
}

/** Returns the options without secrets, for display. */
export function showPurge(options: PurgeOptions): Readonly<Record<string, unknown>> {
  const shown =
    options.cdn === "generic" ? { ...options, headers: Object.keys(options.headers), body: "(hidden)" } : options;
  return JSON.parse(JSON.stringify(shown, (_, value) => (typeof value === "string" ? hideCredentials(value) : value)));
}

interface DocumentedPurgeOption {
  readonly name: string;
  /** The CDNs that have the option. */
  readonly cdns: readonly string[];
  readonly default: string;
  readonly sentence: string;
}

/** Lists the options for the documentation. */
export function purgeOptions(): DocumentedPurgeOption[] {
  const found = Object.entries(shapes).flatMap(([cdn, shape]) =>
    Object.entries(shape as Record<string, z.ZodType>).map(([name, schema]) => ({ cdn, name, schema })),
  );
  // An option of several CDNs has one row, unless its meaning differs.
  const keyOf = ({ name, schema }: (typeof found)[number]) => `${name} ${schema.description}`;
  return [...Map.groupBy(found, keyOf).values()].map((group) => {
    const [{ name, schema }] = group as [(typeof found)[number]];
    const value = (schema.def as { defaultValue?: unknown }).defaultValue;
    return {
      name,
      cdns: group.map(({ cdn }) => cdn),
      default: value === undefined ? "" : JSON.stringify(value),
      sentence: schema.description ?? "",
    };
  });
}
