import { parseArgs } from "node:util";
import { lineOrders } from "./bulk/file.ts";
import type { Range } from "./catalog/random.ts";
import { type SpecialName, specialNames } from "./catalog/specials.ts";
import { faultKinds, parseFault } from "./faults.ts";
import { defaultApp, type StandInOptions } from "./options.ts";
import { type StandIn, startStandIn } from "./stand-in.ts";

/** Used for parsing the arguments and for the help text. */
const flags = {
  port: { value: "N", help: "port to listen on; 0 picks a free one (4000)" },
  host: { value: "NAME", help: "address to listen on (127.0.0.1)" },
  products: { value: "N", help: "ordinary products (500)" },
  variants: { value: "N|A-B", help: "variants per product (1-8)" },
  images: { value: "N|A-B", help: "images per product (0-6)" },
  metafields: { value: "N|A-B", help: "metafields per product (4-16)" },
  "variant-metafields": { value: "N|A-B", help: "metafields per variant (2-5)" },
  specials: { value: "all|A,B", help: `special products to add (none): ${specialNames.join(", ")}` },
  seed: { value: "N", help: "seed of the catalog and of all random decisions (1)" },
  token: { value: "TEXT", help: `permanent access token (${defaultApp.token})` },
  "client-id": { value: "TEXT", help: `for the client-credentials grant (${defaultApp.clientId})` },
  "client-secret": { value: "TEXT", help: `for the client-credentials grant (${defaultApp.clientSecret})` },
  "expires-in": { value: "SECONDS", help: "lifetime of a granted token (86399)" },
  scopes: { value: "A,B", help: `access scopes (${defaultApp.scopes.join(",")})` },
  "restore-rate": { value: "N", help: "points restored per second (100)" },
  bucket: { value: "N", help: "size of the bucket in points (2000)" },
  latency: { value: "MS", help: "delay of every GraphQL response (0)" },
  "bulk-created": { value: "MS", help: "minimum time that a bulk run is CREATED (50)" },
  "bulk-running": { value: "MS", help: "minimum time that a bulk run is RUNNING (200)" },
  "bulk-order": { value: "ORDER", help: `order of the lines of a bulk run: ${lineOrders.join(", ")} (shuffled)` },
  "webhook-speed": { value: "N", help: "how many times faster webhooks are retried (1)" },
  fault: { value: "JSON", help: `fault to add, can be repeated; kinds: ${faultKinds.join(", ")}` },
} as const;

type Flag = keyof typeof flags;
type Given = Partial<Record<Flag, readonly string[]>>;

class UsageError extends Error {
  override name = "UsageError";
}

function readFlags(args: readonly string[]): Given | "help" {
  const options = Object.fromEntries(
    Object.keys(flags).map((name) => [name, { type: "string", multiple: true }] as const),
  );
  try {
    const { values } = parseArgs({ args: [...args], options: { ...options, help: { type: "boolean" } } });
    return values.help === true ? "help" : (values as Given);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function toOptions(given: Given): StandInOptions {
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
    webhooks: withoutUndefined({ speedUp: number("webhook-speed") }),
    faults: (given.fault ?? []).map(readFault),
  });
}

function readNumber(flag: Flag, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new UsageError(`--${flag} must be an integer, not "${text}"`);
  return Number(text);
}

function readRange(flag: Flag, text: string | undefined): Range | undefined {
  const [, lowest, highest] = /^(\d+)-(\d+)$/.exec(text ?? "") ?? [];
  if (lowest === undefined || highest === undefined) return readNumber(flag, text);
  if (Number(lowest) > Number(highest)) throw new UsageError(`--${flag} must be a range from low to high`);
  return [Number(lowest), Number(highest)];
}

function readSpecials(text: string | undefined): "all" | SpecialName[] | undefined {
  if (text === undefined || text === "all") return text;
  return text.split(",").map((name) => {
    const known = specialNames.find((candidate) => candidate === name);
    if (known === undefined) throw new UsageError(`--specials: "${name}" is not one of ${specialNames.join(", ")}`);
    return known;
  });
}

function readOrder(text: string | undefined) {
  const order = lineOrders.find((known) => known === text);
  if (text !== undefined && order === undefined)
    throw new UsageError(`--bulk-order must be one of ${lineOrders.join(", ")}`);
  return order;
}

function readFault(text: string) {
  try {
    return parseFault(JSON.parse(text));
  } catch (error) {
    throw new UsageError(`--fault ${text}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** An undefined property would override the default, so it must be left out. */
function withoutUndefined<T extends object>(given: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof T]: Exclude<T[Name], undefined> };
}

function help(): string {
  const lines = Object.entries(flags).map(([name, { value, help }]) => `  ${`--${name} ${value}`.padEnd(28)} ${help}`);
  return ["A stand-in for the Shopify GraphQL Admin API.", "", "npm run platform -- [options]", "", ...lines, ""].join(
    "\n",
  );
}

function start(args: readonly string[]): void {
  const given = readFlags(args);
  if (given === "help") {
    process.stdout.write(help());
    return;
  }
  const standIn = startStandIn(toOptions(given));
  process.stdout.write(startMessage(standIn));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void standIn.stop().then(() => process.exit(0)));
  }
}

function startMessage(standIn: StandIn): string {
  const [app] = standIn.settings.apps;
  const lines = [
    `listening    ${standIn.origin}`,
    `graphql      ${standIn.graphqlUrl()}`,
    `token        ${app?.token} (X-Shopify-Access-Token)`,
    `client       ${app?.clientId} / ${app?.clientSecret} at ${standIn.accessTokenUrl}`,
    `control      ${standIn.controlUrl}`,
    `products     ${standIn.catalog.count}, the first is ${standIn.catalog.idAt(0)}`,
  ];
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) {
  try {
    start(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
