import { z } from "zod";
import { toLocale } from "../base/locale.ts";
import { isHttpUrl, isUrlOf } from "../base/url.ts";
import { isBrand } from "../jobs/options.ts";

/** Parsers for the text of a setting. Each throws an Error that says which values are valid. */

export function expected(values: string): never {
  throw new Error(`expected ${values}`);
}

export const anyText = (text: string) => text;

export const host = (text: string) =>
  /^[\w.:-]+$/.test(text) ? text : expected("a host name or an IP address to bind");

const split = (text: string) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** Host names or addresses as in a URL, but without a port. Returns them in lower case. */
export function hosts(text: string): readonly string[] {
  const names = split(text.toLowerCase());
  const areValid = names.every((name) => /^([\w.-]+|\[[\da-f:.]+\])$/.test(name) && URL.canParse(`http://${name}`));
  return areValid ? names : expected("host names without ports, separated by commas");
}

export const port = (text: string) =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65535
    ? Number(text)
    : expected("a port from 0 to 65535 (0 picks a free port)");

export const domain = (text: string) => (/^[a-z\d.-]+$/i.test(text) ? text : expected("a domain name"));

export const brand = (text: string) => (isBrand(text) ? text : expected("a name of 1 to 100 characters"));

export const locale = (text: string) => toLocale(text) ?? expected("a language tag such as en or pt-BR");

export const token = (text: string) =>
  text === "" || /^[!-~]{16,}$/.test(text) ? text : expected("at least 16 visible ASCII characters, or an empty value");

export const header = (text: string) =>
  /^[ -~]*$/.test(text) ? text : expected("visible ASCII characters on one line");

export const seconds = (text: string) =>
  /^\d{1,9}$/.test(text) ? Number(text) : expected("a whole number of seconds");

export const count = (text: string) =>
  /^\d{1,6}$/.test(text) ? Number(text) : expected("a whole number up to 999999");

const between = (parse: (text: string) => number, min: number, max: number, unit: string) => (text: string) => {
  const value = parse(text);
  return value >= min && value <= max ? value : expected(`${min} to ${max} ${unit}`);
};

export const secondsBetween = (min: number, max: number) => between(seconds, min, max, "seconds");

/** Each of the four purposes needs at least one. */
export const connections = between(count, 4, 100, "connections");

export const runs = between(count, 1, 100, "runs");

/** The length of a network's prefix. */
export const bits = (max: number) => between((text) => (/^\d{1,3}$/.test(text) ? Number(text) : 0), 1, max, "bits");

export const apiVersion = (text: string) =>
  /^(\d{4}-(01|04|07|10)|unstable)$/.test(text) ? text : expected("a version of the Admin API, such as 2026-10");

/** @returns a global identifier, or an empty text for the online store */
export const publication = (text: string) => {
  const digits = /^(?:gid:\/\/shopify\/Publication\/)?([1-9]\d{0,18})$/.exec(text)?.[1];
  if (text === "") return "";
  return digits === undefined
    ? expected("the ID of a publication, such as gid://shopify/Publication/1234")
    : `gid://shopify/Publication/${digits}`;
};

export const namespaces = (text: string): readonly string[] => {
  const names = text.split(",").map((name) => name.trim());
  if (text.trim() === "") return [];
  if (!names.every((name) => /^[\w$:.-]{1,255}$/.test(name))) return expected("namespaces separated by commas");
  // Only the platform can resolve the short form, and it takes a single namespace.
  const hasShortForm = names.length > 1 && names.some((name) => /^\$app(:|$)/.test(name));
  return hasShortForm ? expected("$app alone, or with others its full form, such as app--123456--name") : names;
};

export function oneOf<Word extends string>(...words: readonly Word[]): (text: string) => Word {
  return (text) => words.find((word) => word === text) ?? expected(`one of ${words.join(", ")}`);
}

export const isServerUrl = (text: string) => isUrlOf(/^postgres(ql)?:\/\//, text);

export function databaseUrl(text: string): string {
  // Each process would have an empty store of its own.
  if (/^sqlite::memory:/.test(text)) expected("sqlite:PATH with the path of a file: a store in memory is not shared");
  // The driver would read what follows it as parameters.
  if (/^sqlite:.*\?/s.test(text)) expected("sqlite:PATH with a path without a question mark");
  if (/^sqlite:.*\S/s.test(text) || isServerUrl(text)) return text;
  // The format leaves out the password, because messages would hide that part.
  return expected("sqlite:PATH or postgres://USER@HOST:PORT/DATABASE, optionally with :PASSWORD after USER");
}

export const postgresUrl = (text: string) =>
  isServerUrl(text) ? text : expected("postgres://USER@HOST:PORT/DATABASE, optionally with :PASSWORD after USER");

export const httpUrl = (text: string) =>
  text === "" || isHttpUrl(text) ? text : expected("an http:// or https:// URL");

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** Addresses and networks, such as `10.0.0.0/8`. */
export function networks(text: string): readonly string[] {
  const parts = split(text);
  const areValid = parts.every((part) => network.safeParse(part).success);
  return areValid ? parts : expected("IP addresses or networks such as 10.0.0.0/8, separated by commas");
}
