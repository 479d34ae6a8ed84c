import { BlockList, isIP } from "node:net";
import { LRUCache } from "lru-cache";

/**
 * The address of who asks: the connection's, or, as far as that is a trusted proxy's, the last one in `X-Forwarded-For` that is not.
 * @param connected the other end of the connection
 */
export function clientAddress(connected: string, forwarded: string | null, trusted: BlockList): string {
  let address = plain(connected);
  const hops = forwarded === null ? [] : forwarded.split(",");
  while (isTrusted(address, trusted)) {
    const hop = plain(hops.pop()?.trim() ?? "");
    // What is no address was not written by a proxy.
    if (isIP(hop) === 0) break;
    address = hop;
  }
  return address;
}

/** An IPv4 address may come dressed as an IPv6 one, and some proxies add the port. */
const plain = (address: string) =>
  address
    .replace(/^\[([^\]]*)\](:\d+)?$/, "$1")
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1")
    .replace(/^::ffff:(?=\d+\.)/i, "");

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 4 ? "ipv4" : "ipv6");
}

/** @param networks addresses and networks, such as `10.0.0.0/8` */
export function toBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const isOld = isIP(address) === 4;
    list.addSubnet(address, Number(bits ?? (isOld ? 32 : 128)), isOld ? "ipv4" : "ipv6");
  }
  return list;
}

export interface Allowance {
  readonly isAllowed: boolean;
  /** Requests that are left, and seconds until there is one more. */
  readonly remaining: number;
  readonly resetS: number;
}

/** Clients that are kept apart; beyond them those that have asked least lately start anew. */
const mostClients = 100_000;

/** Allows each client so many requests a minute, which may come all at once; they are given back evenly. */
export class RateLimiter {
  readonly perMinute: number;
  readonly #trusted: BlockList;
  /** For each client the instant at which it will have got everything back. */
  readonly #fullAtMs = new LRUCache<string, number>({ max: mostClients });

  /** @param trusted addresses and networks of proxies */
  constructor(perMinute: number, trusted: readonly string[]) {
    this.perMinute = perMinute;
    this.#trusted = toBlockList(trusted);
  }

  /** Takes one request out of the client's allowance. */
  take(connected: string, forwarded: string | null, nowMs = performance.now()): Allowance {
    const client = clientAddress(connected, forwarded, this.#trusted);
    const eachMs = 60_000 / this.perMinute;
    const fullAtMs = Math.max(this.#fullAtMs.get(client) ?? 0, nowMs) + eachMs;
    const isAllowed = fullAtMs - nowMs <= 60_000 + eachMs / 2;
    if (isAllowed) this.#fullAtMs.set(client, fullAtMs);
    const usedMs = isAllowed ? fullAtMs - nowMs : fullAtMs - eachMs - nowMs;
    const remaining = Math.max(0, Math.floor((60_000 - usedMs) / eachMs + 0.5));
    return { isAllowed, remaining, resetS: Math.ceil(eachMs / 1000) };
  }
}
