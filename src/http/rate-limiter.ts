import type { BlockList } from "node:net";
import { LRUCache } from "lru-cache";

/** Loaded on first use, so that the service starts faster. */
const net = () => process.getBuiltinModule("node:net");

/**
 * The client's address: the peer's, or behind trusted proxies the last address in `X-Forwarded-For`
 * that is not a trusted proxy's.
 * @param peer remote address of the connection
 * @param forwarded the `X-Forwarded-For` header
 */
export function clientAddress(peer: string, forwarded: string | null, trusted: BlockList): string {
  let address = normalize(peer);
  const hops = forwarded === null ? [] : forwarded.split(",");
  while (isTrusted(address, trusted)) {
    const hop = normalize(hops.pop()?.trim() ?? "");
    // Proxies write only addresses.
    if (net().isIP(hop) === 0) break;
    address = hop;
  }
  return address;
}

/** Removes the port, which some proxies add, and unwraps IPv4 addresses mapped to IPv6. */
const normalize = (address: string) =>
  address
    .replace(/^\[([^\]]*)\](:\d+)?$/, "$1")
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1")
    .replace(/^::ffff:(?=\d+\.)/i, "");

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = net().isIP(address);
  return version !== 0 && trusted.check(address, version === 4 ? "ipv4" : "ipv6");
}

/** @param networks addresses and networks, such as `10.0.0.0/8` */
export function toBlockList(networks: readonly string[]): BlockList {
  const list = new (net().BlockList)();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const isV4 = net().isIP(address) === 4;
    list.addSubnet(address, Number(bits ?? (isV4 ? 32 : 128)), isV4 ? "ipv4" : "ipv6");
  }
  return list;
}

export interface Allowance {
  readonly isAllowed: boolean;
  readonly remaining: number;
  /** Upper bound, in seconds, of the time until the allowance grows by one request. */
  readonly resetS: number;
}

/** Beyond this, the least recently active clients start again with a full allowance. */
const maxClients = 100_000;

/**
 * Limits requests per client and minute. The allowance may be used in one burst, and refills
 * evenly.
 */
export class RateLimiter {
  #perMinute = 0;
  #proxies: readonly string[] = [];
  #trusted: BlockList | undefined;
  /** When each client's allowance is full again, by `performance.now()`. */
  readonly #fullAtMs = new LRUCache<string, number>({ max: maxClients });

  constructor(perMinute: number, trusted: readonly string[]) {
    this.configure(perMinute, trusted);
  }

  /** 0 for no limit. */
  get perMinute(): number {
    return this.#perMinute;
  }

  get trustedProxies(): BlockList {
    this.#trusted ??= toBlockList(this.#proxies);
    return this.#trusted;
  }

  /** @param trusted addresses and networks of proxies */
  configure(perMinute: number, trusted: readonly string[]): void {
    this.#perMinute = perMinute;
    this.#proxies = trusted;
    this.#trusted = undefined;
  }

  /** Whether {@link take} would allow a request now. */
  allows(client: string, nowMs = performance.now()): boolean {
    return (this.#fullAtMs.get(client) ?? 0) - nowMs <= 60_000 - 30_000 / this.#perMinute;
  }

  /** Uses one request of the client's allowance. */
  take(peer: string, forwarded: string | null, nowMs = performance.now()): Allowance {
    const client = clientAddress(peer, forwarded, this.trustedProxies);
    const msPerRequest = 60_000 / this.#perMinute;
    const fullAtMs = Math.max(this.#fullAtMs.get(client) ?? 0, nowMs) + msPerRequest;
    // Half a request of tolerance for rounding.
    const isAllowed = fullAtMs - nowMs <= 60_000 + msPerRequest / 2;
    if (isAllowed) this.#fullAtMs.set(client, fullAtMs);
    const usedMs = isAllowed ? fullAtMs - nowMs : fullAtMs - msPerRequest - nowMs;
    const remaining = Math.max(0, Math.floor((60_000 - usedMs) / msPerRequest + 0.5));
    return { isAllowed, remaining, resetS: Math.ceil(msPerRequest / 1000) };
  }
}
