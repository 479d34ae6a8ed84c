import { FFIType, ptr } from "bun:ffi";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { openLibc } from "./libc.ts";

// When several processes listen on one port, the kernel spreads new connections over their
// sockets. A socket that closes resets the connections in its queue. On Linux, a small program
// attached to the group of sockets sends all new connections to others. It stays with the group when
// the socket has closed, until the next one attaches another.

/** Until the connections that this process had been given are accepted. */
const settleMs = 250;
/** How often to start over because a process joined. */
const maxRounds = 8;

const listenState = "0A";
const solSocket = 1;
const attachReuseportCbpf = 51;

const attempt = <T>(call: () => T): T | undefined => {
  try {
    return call();
  } catch {
    return undefined;
  }
};

/** The sockets that listen on the same address and port, by inode, and the one of this process. */
interface Group {
  readonly fd: number;
  readonly own: string;
  readonly sockets: ReadonlySet<string>;
}

/** The addresses of the sockets that listen on a port, by inode. */
function listAddresses(port: number): Map<string, string> {
  const addresses = new Map<string, string>();
  // The second is missing where IPv6 is disabled.
  for (const table of ["/proc/self/net/tcp", "/proc/self/net/tcp6"].filter(existsSync)) {
    for (const line of readFileSync(table, "latin1").split("\n").slice(1)) {
      const fields = line.trim().split(/\s+/);
      const [, local = "", , state] = fields;
      if (state === listenState && Number.parseInt(local.split(":")[1] ?? "", 16) === port)
        addresses.set(fields[9] ?? "", local);
    }
  }
  return addresses;
}

function findGroup(port: number): Group | undefined {
  const addresses = listAddresses(port);
  for (const fd of readdirSync("/proc/self/fd")) {
    // The descriptor that lists the others is closed by now.
    const own = attempt(() => readlinkSync(`/proc/self/fd/${fd}`))?.match(/^socket:\[(\d+)\]$/)?.[1] ?? "";
    const address = addresses.get(own);
    if (address === undefined) continue;
    const sockets = [...addresses].filter(([, other]) => other === address).map(([inode]) => inode);
    return { fd: Number(fd), own, sockets: new Set(sockets) };
  }
  return undefined;
}

/** An instruction of classic BPF: its code, and a constant. */
type Instruction = readonly [code: number, constant: number];

/** `BPF_RET | BPF_K`: the index of the socket. Without a socket of this index, the kernel chooses. */
const chooseSocket = (index: number): Instruction[] => [[0x06, index]];
const letKernelChoose = chooseSocket(0xffff_ffff);
/** Loads a random number (`SKF_AD_RANDOM`), divides it, and returns the rest. */
const chooseAmongFirst = (count: number): Instruction[] => [
  [0x20, 0xffff_f038],
  [0x94, count],
  [0x16, 0],
];

/**
 * A socket has the index of its age, but when one closes, the newest takes its place. So when
 * siblings close at the same time, the oldest of those that replace them keeps its index.
 */
function chooseOthers(count: number, siblings: number, older: number, newer: number): Instruction[] {
  if (older >= siblings && newer < siblings) return chooseAmongFirst(count - siblings);
  if (siblings > 1 && count > siblings) return chooseSocket(siblings);
  return newer > 0 ? chooseSocket(count - 1) : chooseAmongFirst(count - 1);
}

const headerBytes = 16;
const instructionBytes = 8;

/** @returns whether the kernel accepted the program */
function attach(fd: number, instructions: readonly Instruction[]): boolean {
  const bytes = new Uint8Array(headerBytes + instructionBytes * instructions.length);
  const program = new DataView(bytes.buffer);
  program.setUint16(0, instructions.length, true);
  program.setBigUint64(8, BigInt(ptr(bytes) + headerBytes), true);
  for (const [index, [operation, constant]] of instructions.entries()) {
    program.setUint16(headerBytes + instructionBytes * index, operation, true);
    program.setUint32(headerBytes + instructionBytes * index + 4, constant, true);
  }
  const { int, ptr: pointer, u32 } = FFIType;
  const libc = openLibc({ setsockopt: { args: [int, int, int, pointer, u32], returns: int } });
  if (libc === undefined) return false;
  const status = libc.symbols.setsockopt(fd, solSocket, attachReuseportCbpf, bytes, headerBytes);
  libc.close();
  return status === 0;
}

/** Sends new connections elsewhere before a listener closes. */
export interface Handover {
  /**
   * Sends all new connections to the process that began to listen last, or to the earlier ones if
   * that is this one, and waits until this one has accepted its own. Does nothing where the system
   * cannot, or where no other process listens.
   */
  giveWay(): Promise<void>;
}

/**
 * Call it right after a listener has opened: it remembers the processes that came earlier, and
 * takes its share of new connections, wherever those had been sent.
 * @param siblings how many processes of this service listen on the port, with this one; they may
 *   close at the same time
 */
export function createHandover(port: number, siblings: number): Handover {
  if (process.platform !== "linux") return { giveWay: async () => {} };
  const joined = attempt(() => findGroup(port));
  const earlier = joined?.sockets ?? new Set<string>();
  if (joined !== undefined && earlier.size > 1) attempt(() => attach(joined.fd, letKernelChoose));
  const sendElsewhere = ({ fd, own, sockets }: Group): boolean => {
    const olderCount = [...sockets].filter((inode) => inode !== own && earlier.has(inode)).length;
    const newerCount = sockets.size - 1 - olderCount;
    return attach(fd, chooseOthers(sockets.size, siblings, olderCount, newerCount));
  };
  return {
    giveWay: async () => {
      let known: ReadonlySet<string> = new Set();
      for (let round = 0; round < maxRounds; round++) {
        const group = attempt(() => findGroup(port));
        if (group === undefined || group.sockets.size === 1) return;
        // A process that joined meanwhile has detached the program. One that left has moved the
        // newest socket to its own place, so then nobody knows the index of any.
        if (known.size > 0 && [...group.sockets].every((inode) => known.has(inode))) return;
        if (attempt(() => sendElsewhere(group)) !== true) return;
        known = group.sockets;
        await Bun.sleep(settleMs);
      }
    },
  };
}
