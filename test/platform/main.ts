import { parseArgs } from "node:util";
import { lineOrders } from "./bulk/order.ts";
import type { Range } from "./catalog/dice.ts";
import { type SpecialName, specialNames } from "./catalog/specials.ts";
import { faultKinds } from "./faults.ts";
import { defaultApp, type PlatformOptions } from "./options.ts";
import { parseFault } from "./parse-fault.ts";
import { createPlatform, type Platform } from "./platform.ts";

/** One table for the reading of arguments and for the help. */
const flags = {
  port: { value: "N", help: "port to listen on; 0 takes a free one (4000)" },
  host: { value: "NAME", help: "address to listen on (127.0.0.1)" },
  products: { value: "N", help: "ordinary products (500)" },
  variants: { value: "N|A-B", help: "variants a product (1-8)" },
  images: { value: "N|A-B", help: "images a product (0-6)" },
  metafields: { value: "N|A-B", help: "metafields a product (4-16)" },
  "variant-metafields": { value: "N|A-B", help: "metafields a variant (2-5)" },
  specials: { value: "all|A,B", help: `special products on top (none): ${specialNames.join(", ")}` },
  seed: { value: "N", help: "of the catalog and of every chance (1)" },
  token: { value: "TEXT", help: `lasting access token (${defaultApp.token})` },
  "client-id": { value: "TEXT", help: `for the client-credentials grant (${defaultApp.clientId})` },
  "client-secret": { value: "TEXT", help: `for the client-credentials grant (${defaultApp.clientSecret})` },
  "expires-in": { value: "SECONDS", help: "life of a granted token (86399)" },
  scopes: { value: "A,B", help: `access scopes (${defaultApp.scopes.join(",")})` },
  "restore-rate": { value: "N", help: "points a second (100)" },
  bucket: { value: "N", help: "points a full bucket holds (2000)" },
  latency: { value: "MS", help: "added to every GraphQL answer (0)" },
  "bulk-created": { value: "MS", help: "a bulk run stays CREATED at least so long (50)" },
  "bulk-running": { value: "MS", help: "a bulk run stays RUNNING at least so long (200)" },
  "bulk-order": { value: "ORDER", help: `lines of a bulk run: ${lineOrders.join(", ")} (shuffled)` },
  fault: { value: "JSON", help: `may be repeated; kinds: ${faultKinds.join(", ")}` },
} as const;

type Flag = keyof typeof flags;
type Given = Partial<Record<Flag, readonly string[]>>;

class Misuse extends Error {
  override name = "Misuse";
}

function readFlags(args: readonly string[]): Given | "help" {
  const options = Object.fromEntries(
    Object.keys(flags).map((name) => [name, { type: "string", multiple: true }] as const),
  );
  try {
    const { values } = parseArgs({ args: [...args], options: { ...options, help: { type: "boolean" } } });
    return values.help === true ? "help" : (values as Given);
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error));
  }
}

function toOptions(given: Given): PlatformOptions {
  const text = (flag: Flag) => given[flag]?.at(-1);
  const number = (flag: Flag) => readNumber(flag, text(flag));
  const range = (flag: Flag) => readRange(flag, text(flag));
  const app = {
    name: defaultApp.name,
    token: text("token") ?? defaultApp.token,
    clientId: text("client-id") ?? defaultApp.clientId,
    clientSecret: text("client-secret") ?? defaultApp.clientSecret,
    scopes: text("scopes")?.split(",") ?? defaultApp.scopes,
  };
  return withoutUndefined({
    port: number("port") ?? 4000,
    hostname: text("host"),
    products: number("products") ?? 500,
    variants: range("variants"),
    images: range("images"),
    metafields: range("metafields"),
    variantMetafields: range("variant-metafields"),
    specials: readSpecials(text("specials")),
    seed: number("seed"),
    apps: [app],
    expiresIn: number("expires-in"),
    latencyMs: number("latency"),
    bucket: withoutUndefined({ restoreRate: number("restore-rate"), maximumAvailable: number("bucket") }),
    bulk: withoutUndefined({
      createdMs: number("bulk-created"),
      runningMs: number("bulk-running"),
      order: readOrder(text("bulk-order")),
    }),
    faults: (given.fault ?? []).map(readFault),
  });
}

function readNumber(flag: Flag, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new Misuse(`--${flag} must be a whole number, not "${text}"`);
  return Number(text);
}

function readRange(flag: Flag, text: string | undefined): Range | undefined {
  const [, lowest, highest] = /^(\d+)-(\d+)$/.exec(text ?? "") ?? [];
  if (lowest === undefined || highest === undefined) return readNumber(flag, text);
  if (Number(lowest) > Number(highest)) throw new Misuse(`--${flag} must go from low to high`);
  return [Number(lowest), Number(highest)];
}

function readSpecials(text: string | undefined): "all" | SpecialName[] | undefined {
  if (text === undefined || text === "all") return text;
  return text.split(",").map((name) => {
    const known = specialNames.find((candidate) => candidate === name);
    if (known === undefined) throw new Misuse(`--specials knows no "${name}", only ${specialNames.join(", ")}`);
    return known;
  });
}

function readOrder(text: string | undefined) {
  const order = lineOrders.find((known) => known === text);
  if (text !== undefined && order === undefined)
    throw new Misuse(`--bulk-order must be one of ${lineOrders.join(", ")}`);
  return order;
}

function readFault(text: string) {
  try {
    return parseFault(JSON.parse(text));
  } catch (error) {
    throw new Misuse(`--fault ${text}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A setting that is absent falls back to its default; one that is there and undefined would not. */
function withoutUndefined<T extends object>(given: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof T]: Exclude<T[Name], undefined> };
}

function help(): string {
  const lines = Object.entries(flags).map(([name, { value, help }]) => `  ${`--${name} ${value}`.padEnd(28)} ${help}`);
  return ["A stand-in for the Shopify GraphQL Admin API.", "", "bun main.ts [flags]", "", ...lines, ""].join("\n");
}

function start(args: readonly string[]): void {
  const given = readFlags(args);
  if (given === "help") {
    process.stdout.write(help());
    return;
  }
  const platform = createPlatform(toOptions(given));
  process.stdout.write(introduce(platform));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void platform.stop().then(() => process.exit(0)));
  }
}

function introduce(platform: Platform): string {
  const [app] = platform.settings.apps;
  const lines = [
    `listening    ${platform.origin}`,
    `graphql      ${platform.graphqlUrl()}`,
    `token        ${app?.token} (X-Shopify-Access-Token)`,
    `client       ${app?.clientId} / ${app?.clientSecret} at ${platform.accessTokenUrl}`,
    `control      ${platform.controlUrl}`,
    `products     ${platform.catalog.count}, the first is ${platform.catalog.idAt(0)}`,
  ];
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) {
  try {
    start(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
