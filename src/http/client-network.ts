import type { BlockList } from "node:net";
import { ipVersionOf, isListed, toBlockList } from "../base/networks.ts";

export interface RequestOrigin {
  readonly request: Request;
  readonly server: { requestIP(request: Request): { readonly address: string } | null };
}

export interface ClientNetworkSettings {
  /** Addresses and networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** Clients whose addresses share this many leading bits share a network. */
  readonly clientPrefixIpv4: number;
  readonly clientPrefixIpv6: number;
}

/**
 * Identifies clients by network: limits and queues are fair to networks, because a client can use
 * any number of addresses in its network.
 */
export class ClientNetworks {
  readonly #settings: ClientNetworkSettings;
  #trusted: BlockList | undefined;

  constructor(settings: ClientNetworkSettings) {
    this.#settings = settings;
  }

  /** @returns an address or a network, such as `192.0.2.1` or `2001:db8::/64` */
  of(origin: RequestOrigin): string {
    return toNetwork(this.addressOf(origin), this.#settings);
  }

  addressOf({ request, server }: RequestOrigin): string {
    const peer = server.requestIP(request)?.address ?? "";
    return clientAddress(peer, request.headers.get("x-forwarded-for"), this.#trustedProxies());
  }

  #trustedProxies(): BlockList {
    this.#trusted ??= toBlockList(this.#settings.trustedProxies);
    return this.#trusted;
  }
}

/** The peer's or, behind trusted proxies, the last in `X-Forwarded-For` that is not one of theirs. */
export function clientAddress(peer: string, forwarded: string | null, trusted: BlockList): string {
  let address = normalize(peer);
  const hops = forwarded === null ? [] : forwarded.split(",");
  while (isListed(address, trusted)) {
    const hop = normalize(hops.pop()?.trim() ?? "");
    // Proxies write only addresses.
    if (ipVersionOf(hop) === 0) break;
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

type Prefixes = Pick<ClientNetworkSettings, "clientPrefixIpv4" | "clientPrefixIpv6">;

/** @param address any text; one that is not an address is its own network */
export function toNetwork(address: string, { clientPrefixIpv4, clientPrefixIpv6 }: Prefixes): string {
  if (address.includes(":")) {
    const groups = parseGroups(address);
    return `${mask(groups, 16, clientPrefixIpv6)
      .slice(0, Math.ceil(clientPrefixIpv6 / 16))
      .map((group) => group.toString(16))
      .join(":")}::/${clientPrefixIpv6}`;
  }
  if (clientPrefixIpv4 === 32 || !address.includes(".")) return address;
  return `${mask(address.split(".").map(Number), 8, clientPrefixIpv4).join(".")}/${clientPrefixIpv4}`;
}

/** Keeps the first bits of an address, given as numbers of `width` bits. */
const mask = (numbers: readonly number[], width: number, bits: number) =>
  numbers.map((value, index) => {
    const kept = Math.min(width, Math.max(0, bits - index * width));
    return value & ~((1 << (width - kept)) - 1);
  });

/** The eight groups of an IPv6 address, whose last two may be in IPv4 notation. */
function parseGroups(address: string): number[] {
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const parse = (text: string) =>
    text === ""
      ? []
      : text.split(":").flatMap((group) => (group.includes(".") ? toGroups(group) : Number.parseInt(group, 16)));
  const first = parse(head);
  const last = parse(tail ?? "");
  return [...first, ...Array<number>(Math.max(0, 8 - first.length - last.length)).fill(0), ...last];
}

function toGroups(dotted: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
}
