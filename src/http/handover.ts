import { FFIType, ptr } from "bun:ffi";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { openLibc } from "./libc.ts";

// When several processes listen on one port, the kernel spreads new connections over their
// sockets. A socket that closes resets the connections in its queue. On Linux, a small program
// attached to the group of sockets sends all new connections to one of them.

/** Until the connections that this process had been given are accepted. */
const settleMs = 250;

const listenState = "0A";
const solSocket = 1;
const attachReuseportCbpf = 51;
/** `BPF_RET | BPF_K`: returns a constant, the index of a socket. */
const returnConstant = 0x06;

const attempt = <T>(call: () => T): T | undefined => {
  try {
    return call();
  } catch {
    return undefined;
  }
};

/** The listening sockets of a port, by inode. */
function listSockets(port: number): Set<string> {
  const sockets = new Set<string>();
  for (const table of ["tcp", "tcp6"]) {
    for (const line of readFileSync(`/proc/self/net/${table}`, "latin1").split("\n").slice(1)) {
      const fields = line.trim().split(/\s+/);
      const [, local = "", , state] = fields;
      if (state === listenState && Number.parseInt(local.split(":")[1] ?? "", 16) === port)
        sockets.add(fields[9] ?? "");
    }
  }
  return sockets;
}

/** The descriptor of this process's socket. */
function findDescriptor(sockets: ReadonlySet<string>): { fd: number; inode: string } | undefined {
  for (const fd of readdirSync("/proc/self/fd")) {
    try {
      const inode = readlinkSync(`/proc/self/fd/${fd}`).match(/^socket:\[(\d+)\]$/)?.[1];
      if (inode !== undefined && sockets.has(inode)) return { fd: Number(fd), inode };
    } catch {
      // The descriptor that lists the others is closed by now.
    }
  }
  return undefined;
}

/**
 * Lets the kernel choose the socket with this index for all new connections; if there is none, it
 * spreads them as before.
 * @returns whether the kernel accepted that
 */
function steer(fd: number, index: number): boolean {
  const instruction = new Uint8Array(8);
  new DataView(instruction.buffer).setUint16(0, returnConstant, true);
  new DataView(instruction.buffer).setUint32(4, index, true);
  const program = new Uint8Array(16);
  new DataView(program.buffer).setUint16(0, 1, true);
  new DataView(program.buffer).setBigUint64(8, BigInt(ptr(instruction)), true);
  const { int, ptr: pointer, u32 } = FFIType;
  const libc = openLibc({ setsockopt: { args: [int, int, int, pointer, u32], returns: int } });
  if (libc === undefined) return false;
  const status = libc.symbols.setsockopt(fd, solSocket, attachReuseportCbpf, ptr(program), program.length);
  libc.close();
  return status === 0;
}

/** Sends new connections elsewhere before a listener closes. */
export interface Handover {
  /**
   * Sends all new connections to the process that began to listen last, or to the first if that is
   * this one, and waits until this one has accepted its own. Does nothing where the system cannot,
   * or where no other process listens.
   */
  giveWay(): Promise<void>;
}

/** Call it right after a listener has opened, so that processes that came later are known. */
export function createHandover(port: number): Handover {
  if (process.platform !== "linux") return { giveWay: async () => {} };
  const earlier = attempt(() => listSockets(port)) ?? new Set<string>();
  return {
    giveWay: async () => {
      const isSteered = attempt(() => {
        const sockets = listSockets(port);
        const own = findDescriptor(sockets);
        if (own === undefined || sockets.size === 1) return false;
        const hasSuccessor = [...sockets].some((inode) => inode !== own.inode && !earlier.has(inode));
        // The newest socket has the highest index. If that is this one, another has the lowest.
        return steer(own.fd, hasSuccessor ? sockets.size - 1 : 0);
      });
      if (isSteered === true) await Bun.sleep(settleMs);
    },
  };
}
