import { FFIType, ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import type { ClientNetworks } from "./client-network.ts";
import { openLibc } from "./libc.ts";

// The runtime shows neither the connections of a listener nor a way to close one that has no
// request. On Linux, the kernel does both: to the runtime, a connection that is shut down looks
// like one that its client has closed.

const checkMs = 1000;

const { int, ptr: pointer } = FFIType;
const openSockets = () =>
  openLibc({
    getpeername: { args: [int, pointer, pointer], returns: int },
    getsockname: { args: [int, pointer, pointer], returns: int },
    getsockopt: { args: [int, int, int, pointer, pointer], returns: int },
    shutdown: { args: [int, int], returns: int },
  })?.symbols;
type Sockets = NonNullable<ReturnType<typeof openSockets>>;

const inet = 2;
const inet6 = 10;
const addressBytes = 28;
const tcp = 6;
const tcpInfo = 11;
/** `tcpi_last_data_recv` in `struct tcp_info`: milliseconds. */
const silentOffset = 52;
const infoBytes = silentOffset + 4;
const bothWays = 2;

/** Closes the connections of a network beyond a maximum: those that were silent longest. */
export class ConnectionLimiter {
  /** Per network of clients; 0 for no limit. */
  max: number;
  closed = 0;
  readonly #networks: ClientNetworks;
  #sockets: Sockets | undefined;

  constructor(max: number, networks: ClientNetworks) {
    this.max = max;
    this.#networks = networks;
  }

  /**
   * Checks the connections to a port of this process every second.
   * @returns a function that ends this
   */
  watch(port: number): () => void {
    const timer = setInterval(() => this.#check(port), checkMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  #check(port: number): void {
    if (this.max === 0 || process.platform !== "linux") return;
    const descriptors = readdirSync("/proc/self/fd");
    if (descriptors.length <= this.max) return;
    this.#sockets ??= openSockets();
    if (this.#sockets === undefined) return;
    for (const connections of listByNetwork(descriptors.map(Number), this.#sockets, this.#networks)) {
      if (connections.length > this.max) this.#closeSilent(connections, port, this.#sockets);
    }
  }

  #closeSilent(connections: readonly number[], port: number, sockets: Sockets): void {
    const accepted = connections.filter((fd) => portOf(read(sockets.getsockname, fd)) === port);
    const silent = accepted
      .map((fd) => ({ fd, silentMs: readSilentMs(fd, sockets) }))
      .sort((a, b) => b.silentMs - a.silentMs);
    for (const { fd } of silent.slice(0, Math.max(0, accepted.length - this.max))) {
      if (sockets.shutdown(fd, bothWays) === 0) this.closed++;
    }
  }
}

/** The descriptors of connections, by the network of the peer, except for those of proxies. */
function listByNetwork(descriptors: readonly number[], sockets: Sockets, networks: ClientNetworks) {
  const byNetwork = new Map<string, number[]>();
  for (const fd of descriptors) {
    const address = toAddress(read(sockets.getpeername, fd));
    if (address === undefined || networks.isProxy(address)) continue;
    const network = networks.networkOf(address);
    const connections = byNetwork.get(network);
    if (connections === undefined) byNetwork.set(network, [fd]);
    else connections.push(fd);
  }
  return byNetwork.values();
}

/** A socket address; undefined for what is no connection. */
function read(name: Sockets["getpeername"], fd: number): DataView | undefined {
  const address = new DataView(new ArrayBuffer(addressBytes));
  const length = new Uint32Array([addressBytes]);
  return name(fd, ptr(address), ptr(length)) === 0 ? address : undefined;
}

const portOf = (address: DataView | undefined) => address?.getUint16(2);

function toAddress(address: DataView | undefined): string | undefined {
  const family = address?.getUint16(0, true);
  if (address === undefined || (family !== inet && family !== inet6)) return undefined;
  const dotted = (offset: number) => [0, 1, 2, 3].map((index) => address.getUint8(offset + index)).join(".");
  if (family === inet) return dotted(4);
  const groups = Array.from({ length: 8 }, (_, index) => address.getUint16(8 + 2 * index));
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? dotted(20) : groups.map((group) => group.toString(16)).join(":");
}

function readSilentMs(fd: number, sockets: Sockets): number {
  const info = new DataView(new ArrayBuffer(infoBytes));
  const length = new Uint32Array([infoBytes]);
  return sockets.getsockopt(fd, tcp, tcpInfo, ptr(info), ptr(length)) === 0 ? info.getUint32(silentOffset, true) : 0;
}
