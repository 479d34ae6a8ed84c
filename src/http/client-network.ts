import type { BlockList } from "node:net";
import { clientAddress } from "./rate-limiter.ts";

/** Where a request comes from. */
export interface RequestOrigin {
  readonly request: Request;
  readonly server: { requestIP(request: Request): { readonly address: string } | null };
}

/** The network of the client: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function clientNetwork({ request, server }: RequestOrigin, trusted: BlockList): string {
  const peer = server.requestIP(request)?.address ?? "";
  return toNetwork(clientAddress(peer, request.headers.get("x-forwarded-for"), trusted));
}

export function toNetwork(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups.length - after.length) }, () => "0");
  const first = [...groups, ...zeros, ...after].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${first.join(":")}::/64`;
}
