import { existsSync, writeFileSync } from "node:fs";
import { hideCredentials } from "../base/credentials.ts";
import { ServiceError } from "../base/errors.ts";
import { isTerminal } from "../base/terminal.ts";
import { environmentName, settingNames, settings } from "../config/settings.ts";
import { findSourceProblem } from "../feed/address.ts";
import { parseGiven, type Values } from "./common.ts";
import { printMessage } from "./output.ts";

interface Answers {
  readonly brand: string;
  readonly shopDomain: string;
  readonly databaseUrl: string;
  /** Empty without a feed. */
  readonly feed: string;
  /** Empty without a file of products. */
  readonly products: string;
  readonly hasPlatform: boolean;
}

/** Never replaces a file. */
export function init(values: Values): boolean {
  const path = process.env.PDS_CONFIG ?? "pds.toml";
  if (existsSync(path)) throw new ServiceError("unavailable", `${path} exists already, and is not changed`);
  const isAsking = Object.keys(values).length === 0 && isTerminal() && process.stdin.isTTY === true;
  const answers = isAsking ? ask() : toAnswers(values);
  try {
    writeFileSync(path, toToml(answers), { flag: "wx", mode: holdsSecret(answers) ? 0o600 : 0o644 });
  } catch (cause) {
    throw new ServiceError("unavailable", `cannot write ${path}: ${(cause as Error).message}`, { cause });
  }
  printMessage(`wrote ${path}; "pds check" checks it, "pds serve" starts the service`);
  return true;
}

/** The settings of a new installation. */
export const firstSettings = () => toToml(toAnswers({}));

const textOf = (values: Values, name: string) => (typeof values[name] === "string" ? values[name] : undefined);

function toAnswers(values: Values): Answers {
  const parse = (option: string, text: string, parser: (text: string) => unknown) => {
    parseGiven(`--${option}`, text, parser);
    return text;
  };
  const setting = (name: "brand" | "shopDomain" | "databaseUrl", option: string) =>
    parse(option, textOf(values, name) ?? settings[name].default, settings[name].parse);
  return {
    brand: setting("brand", "brand"),
    shopDomain: setting("shopDomain", "shop-domain"),
    databaseUrl: setting("databaseUrl", "database-url"),
    feed: parse("feed", textOf(values, "feed") ?? "", checkSource),
    products: textOf(values, "products") ?? "",
    hasPlatform: values.platform === true,
  };
}

function checkSource(text: string): void {
  const problem = findSourceProblem(text);
  if (problem !== undefined) throw new Error(problem);
}

function ask(): Answers {
  const answer = (question: string, fallback: string, check: (text: string) => unknown): string => {
    for (;;) {
      const text = prompt(question, fallback)?.trim() ?? fallback;
      try {
        check(text);
        return text;
      } catch (error) {
        printMessage((error as Error).message);
      }
    }
  };
  return {
    brand: answer("Name of the brand:", settings.brand.default, settings.brand.parse),
    shopDomain: answer("Domain of the shop:", settings.shopDomain.default, settings.shopDomain.parse),
    databaseUrl: answer("Store:", settings.databaseUrl.default, settings.databaseUrl.parse),
    feed: answer("Folder or URL of the personalization feed (empty for none):", "", checkSource),
    products: answer("File with all products (empty for none):", "", () => {}),
    hasPlatform: confirm("Read products from the shop's platform?"),
  };
}

function toToml({ brand, shopDomain, databaseUrl, feed, products, hasPlatform }: Answers): string {
  const table = (isUsed: boolean, lines: readonly string[]) =>
    lines.map((line) => (isUsed || line.startsWith("#") || line === "" ? line : `# ${line}`));
  return [
    "# Settings of the product data service. Each can also be set in the environment: BRAND=…",
    "# All settings: docs/reference/settings.md. All options of jobs: docs/reference/jobs.md.",
    "",
    "# The brand whose personalization takes precedence.",
    `brand = ${quote(brand)}`,
    "# The shop's domain.",
    `shop_domain = ${quote(shopDomain)}`,
    `# ${settings.databaseUrl.sentence.replaceAll("`", "")}`,
    `database_url = ${quote(databaseUrl)}`,
    "# Secrets belong into files, such as one that ADMIN_TOKEN_FILE names (with systemd: credentials/ADMIN_TOKEN",
    "# beside this file), or into the environment:",
    ...secretNames().map((name) => `# ${name}`),
    "",
    ...table(feed !== "", [
      "# Engraving styles, lines, and choices from the ERP, every 15 minutes if they changed.",
      "[jobs.personalization-import]",
      `source = ${quote(feed === "" ? "feed" : feed)}`,
      'schedule = "*/15 * * * *"',
      "",
    ]),
    ...table(products !== "", [
      "# All products from a file, every night.",
      "[jobs.catalog-import]",
      `source = [${quote(products === "" ? "products.ndjson" : products)}]`,
      'schedule = "0 3 * * *"',
      "",
    ]),
    ...table(hasPlatform, [
      "# Products from the platform: changes every five minutes, and a comparison of all twice an hour.",
      "# They need the shop's domain and access to its platform.",
      "[jobs.catalog-sync]",
      "[jobs.catalog-reconcile]",
      "",
    ]),
    "# Runs older than 90 days are removed every night.",
    "[jobs.history-retention]",
    'schedule = "30 4 * * *"',
    "",
  ].join("\n");
}

const secretNames = () => settingNames.filter((name) => settings[name].hide === "secret").map(environmentName);

/** Passwords may also be in a query. */
const holdsSecret = ({ databaseUrl, products }: Answers) =>
  [databaseUrl, products].some((address) => hideCredentials(address) !== address);

/** A basic string of TOML; JSON escapes the same characters. */
const quote = (text: string) => JSON.stringify(text).replaceAll("\u007f", "\\u007F");
