import type { BlockList } from "node:net";

/** Loaded on first use, so that the service starts faster. */
const net = () => process.getBuiltinModule("node:net");

export const ipVersionOf = (text: string) => net().isIP(text);

/** @param networks addresses and networks, such as `10.0.0.0/8` */
export function toBlockList(networks: readonly string[]): BlockList {
  const list = new (net().BlockList)();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const isV4 = ipVersionOf(address) === 4;
    list.addSubnet(address, Number(bits ?? (isV4 ? 32 : 128)), isV4 ? "ipv4" : "ipv6");
  }
  return list;
}

export function isListed(address: string, list: BlockList): boolean {
  const version = ipVersionOf(address);
  return version !== 0 && list.check(address, version === 4 ? "ipv4" : "ipv6");
}
