import type { BlockList } from "node:net";
import { ServiceError } from "./errors.ts";
import { ipVersionOf, isListed, toBlockList } from "./networks.ts";
import { untilAborted } from "./time.ts";

/** Like the global function, but refuses the addresses in {@link refusedNetworks}. */
export type Fetch = (url: string, init?: FetchInit) => Promise<Response>;

type FetchInit = Omit<BunFetchRequestInit, "redirect"> & { readonly redirect?: "follow" | "manual" };

/** Addresses where clouds provide a machine's credentials, which only the machine itself needs. */
const refusedIpv4Networks = [
  "169.254.0.0/16",
  // Alibaba Cloud.
  "100.100.100.200",
  // Azure.
  "168.63.129.16",
  // Oracle, in its older regions.
  "192.0.0.192",
];

/** IPv6 prefixes that lead to an IPv4 address: mapped, compatible, translated, and NAT64 (two). */
const ipv4Prefixes = ["::ffff:", "::", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"];

/** Lists an IPv4 network with the IPv6 networks that lead to it. */
function withIpv6(network: string): string[] {
  const [address = "", bits = "32"] = network.split("/");
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const length = Number(bits);
  const groups = (...numbers: number[]) => numbers.map((number) => number.toString(16)).join(":");
  return [
    network,
    ...ipv4Prefixes.map((prefix) => `${prefix}${address}/${96 + length}`),
    // 6to4.
    `2002:${groups(a * 256 + b, c * 256 + d)}::/${16 + length}`,
    // The local NAT64 (RFC 6052, section 2.2): two bytes, eight zero bits, and the others.
    `64:ff9b:1:${groups(a * 256 + b, c, d * 256)}::/${48 + length + (length > 16 ? 8 : 0)}`,
  ];
}

const refusedNetworks = [
  ...refusedIpv4Networks.flatMap(withIpv6),
  "fe80::/10",
  // Amazon, Google, Oracle, and Scaleway.
  "fd00:ec2::/32",
  "fd20:ce::254",
  "fd00:c1::a9fe:a9fe",
  "fd00:42::42",
];

const maxRedirects = 5;
const redirects: readonly number[] = [301, 302, 303, 307, 308];

/** Errors before a connection, so the server has not seen the request. */
const connectErrors: readonly string[] = [
  ...["ECONNREFUSED", "ConnectionRefused", "FailedToOpenSocket"],
  ...["EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "ETIMEDOUT"],
];

export interface FetchOptions {
  /** Refused addresses and networks to allow. */
  readonly allowedLinkLocal?: readonly string[];
  readonly lookup?: (name: string) => Promise<readonly string[]>;
}

/**
 * Creates the function for all outgoing requests. It connects to the address that it checked,
 * because the name may resolve differently the next time.
 */
export function createFetch(options: FetchOptions = {}): Fetch {
  const resolve = createResolver(options);

  const send = async (url: URL, init: FetchInit): Promise<Response> => {
    const resolving = resolve(url);
    const addresses = await (init.signal ? untilAborted(resolving, init.signal) : resolving);
    return addresses === undefined ? await fetch(url, init) : await sendToAny(addresses, url, init);
  };

  return async (address, init = {}) => {
    let url = new URL(address);
    let request = init;
    for (let hop = 0; ; hop++) {
      const response = await send(url, { ...request, redirect: "manual" });
      const location = redirects.includes(response.status) ? response.headers.get("location") : null;
      if (location === null || init.redirect === "manual") return response;
      await response.body?.cancel();
      if (hop === maxRedirects) throw new Error(`it redirects more than ${maxRedirects} times`);
      const next = new URL(location, url);
      if (!/^https?:$/.test(next.protocol)) throw new Error(`it redirects to ${next.protocol}`);
      request = redirect(request, response.status, next.origin !== url.origin);
      url = next;
    }
  };
}

/**
 * @returns a function that resolves a URL's host, and throws ServiceError if an address is refused;
 *   it returns undefined for an address, or if a proxy connects
 */
function createResolver({ allowedLinkLocal = [], lookup = findAddresses }: FetchOptions) {
  // Created with the first request, so that the service starts faster.
  let lists: { readonly refused: BlockList; readonly allowed: BlockList } | undefined;

  const requireAllowed = (address: string, { host, hostname }: URL) => {
    lists ??= { refused: toBlockList(refusedNetworks), allowed: toBlockList(allowedLinkLocal) };
    if (!isListed(address, lists.refused) || isListed(address, lists.allowed)) return;
    const leads = hostname === address || hostname === `[${address}]` ? "is" : `leads to ${address},`;
    throw new ServiceError(
      "unavailable",
      `${host} ${leads} a link-local or metadata address; nothing is sent there unless ALLOWED_LINK_LOCAL lists it`,
    );
  };

  return async (url: URL): Promise<readonly string[] | undefined> => {
    const name = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const isAddress = ipVersionOf(name) !== 0;
    const hasProxy = usesProxy();
    // A name that only the proxy can resolve does not exist here.
    const addresses = isAddress ? [name] : hasProxy ? await lookup(name).catch(() => []) : await lookup(name);
    for (const address of addresses) requireAllowed(address, url);
    return isAddress || hasProxy ? undefined : addresses;
  };
}

/** Connects to the first address that accepts a connection; everything else uses the host name. */
async function sendToAny(addresses: readonly string[], url: URL, init: FetchInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Host", url.host);
  const serverName = url.hostname.replace(/\.$/, "");
  const tls = url.protocol === "https:" && { tls: { ...init.tls, serverName } };
  for (const [index, address] of addresses.entries()) {
    const pinned = new URL(url);
    pinned.hostname = address.includes(":") ? `[${address}]` : address;
    // A URL keeps its host when the new one is invalid, such as an address with a zone.
    if (pinned.hostname === url.hostname) throw new Error(`${url.hostname} leads to ${address}, which is unusable`);
    try {
      return await fetch(pinned, { ...init, ...tls, headers });
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (index === addresses.length - 1 || !connectErrors.includes(code)) throw error;
    }
  }
  throw new Error(`${url.hostname} has no address`);
}

/**
 * IPv4 first, because connections hang where IPv6 is broken; otherwise random, to spread retries.
 */
async function findAddresses(name: string): Promise<string[]> {
  // The same resolver as the runtime's own requests.
  const found = await Bun.dns.lookup(name, { backend: "getaddrinfo" }).catch((cause: NodeJS.ErrnoException) => {
    throw Object.assign(new Error(`${cause.message} ${name}`, { cause }), { code: cause.code?.replace("DNS_", "") });
  });
  return found
    .map(({ address, family }) => ({ address, order: family + Math.random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ address }) => address);
}

const usesProxy = () => ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].some((name) => process.env[name]);

function redirect(init: FetchInit, status: number, isOtherOrigin: boolean): FetchInit {
  const { body, ...rest } = init;
  const headers = new Headers(init.headers);
  if (isOtherOrigin) for (const name of ["authorization", "cookie"]) headers.delete(name);
  const method = init.method ?? "GET";
  const becomesGet = status === 303 ? method !== "HEAD" : status < 303 && method === "POST";
  if (!becomesGet) return { ...init, headers };
  for (const name of ["content-type", "content-length"]) headers.delete(name);
  return { ...rest, headers, method: "GET" };
}
