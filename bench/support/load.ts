import type { Socket } from "bun";
import { LatencyHistogram } from "./latency-histogram.ts";
import { type Head, readHead } from "./response-head.ts";
import { createRandom, createSequence, type Order } from "./sequence.ts";

// A load generator on raw sockets, because `fetch` would use more CPU than the measured servers.
// For the same reason it does not share the generator of the tests (test/support/load.ts), which
// parses and checks every response. It can run as a process on its own core: it reads one JSON
// specification per line and writes one JSON result per line. A list of them runs at the same time.

/** A path with its own headers, and the status and the hash of the body that are expected. */
export interface Target {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** By default, that of the specification. */
  readonly expect?: number;
  /** `hashOf` of the body. */
  readonly hash?: string;
}

export interface LoadSpec {
  /** Base URL, such as `http://127.0.0.1:3000/api/v1`. */
  readonly url: string;
  readonly paths: readonly (string | Target)[];
  /** Connections, each with at most one outstanding request. */
  readonly connections: number;
  /** Total number of requests, or duration; with both, whichever ends first. */
  readonly requests?: number;
  readonly seconds?: number;
  /**
   * Requests per second at a steady rate, independent of responses. Default: as fast as possible.
   */
  readonly rate?: number;
  /** Whether requests at a rate come at random instants, independently of each other. */
  readonly isRandom?: boolean;
  /**
   * At a rate, what the generator does between requests; by default, it sleeps until shortly before the
   * next one. With `sleep`, it leaves the CPU to others: requests are sent up to some milliseconds late,
   * and their latency counts from that moment. With `poll`, it takes a whole core to send each in time.
   */
  readonly between?: "sleep" | "poll";
  readonly order?: Order;
  readonly seed?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Expected status of the responses; default 200. */
  readonly expect?: number;
  /** Share of the responses whose body is checked against the target's hash; default 0.01. */
  readonly checked?: number;
  /** Request timeout; default 30 s. */
  readonly timeoutMs?: number;
}

/**
 * Why a request failed: the connection was refused or reset, the response timed out, had another
 * status or body, or was malformed (chunked bodies count as malformed).
 */
const kinds = ["refused", "reset", "timeout", "status", "body", "malformed"] as const;
export type FailureKind = (typeof kinds)[number];

export interface LoadResult {
  /** Completed requests, successful or failed. */
  readonly requests: number;
  readonly failed: number;
  readonly failures: Readonly<Record<FailureKind, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** From the first request to the last response. */
  readonly seconds: number;
  /** Successful responses per second. */
  readonly perSecond: number;
  /** Bytes of all bodies. */
  readonly bytes: number;
  readonly bodiesChecked: number;
  /** Responses with `Connection: close`. */
  readonly closing: number;
  /**
   * Latency from sending the request, or with a rate from its scheduled time, to the end of the
   * response.
   */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** The 100 quantiles from 0.5 % to 99.5 %. */
  readonly quantilesMs: readonly number[];
}

export const hashOf = (body: Uint8Array | string) => Bun.hash(body).toString(36);

/** Runs a load. Failures are counted, never thrown. */
export function runLoad(spec: LoadSpec): Promise<LoadResult> {
  return new Load(spec).run();
}

interface Connection {
  socket: Socket<Connection> | undefined;
  /** Index of the requested target; -1 while idle. */
  target: number;
  /** When the request was sent, or scheduled. */
  sinceMs: number;
  /** The start of a response whose head is incomplete. */
  begun: Buffer | undefined;
  /** Remaining bytes of the body; -1 before the head is parsed. */
  left: number;
  closes: boolean;
  /** The body, if it will be checked. */
  body: Buffer[] | undefined;
}

const sweepMs = 250;
const reconnectMs = 10;
/**
 * Time before a scheduled request from which the generator polls without timers, which are too
 * coarse.
 */
const pollMs = 3;

class Load {
  readonly #spec: LoadSpec;
  readonly #server: URL;
  readonly #targets: readonly Target[];
  readonly #requests: Requests;
  readonly #nextTarget: () => number;
  readonly #random: () => number;
  readonly #checkEvery: number;
  readonly #latencies = new LatencyHistogram();
  readonly #failures = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<FailureKind, number>;
  readonly #statuses = new Map<number, number>();
  readonly #connections: Connection[] = [];
  /** Idle connections, with a rate. */
  readonly #idle: Connection[] = [];
  /** Scheduled times of the requests that wait for a connection, with a rate. */
  readonly #due: number[] = [];
  readonly #finished = Promise.withResolvers<void>();
  #nextDue = 0;
  #begunMs = 0;
  #endedMs = 0;
  #sent = 0;
  #done = 0;
  #bytes = 0;
  #checked = 0;
  #closing = 0;
  #isOver = false;

  constructor(spec: LoadSpec) {
    if (spec.requests === undefined && spec.seconds === undefined) throw new Error("load: set requests or seconds");
    if (spec.paths.length === 0) throw new Error("load: paths is empty");
    this.#spec = spec;
    this.#server = new URL(spec.url);
    this.#targets = spec.paths.map((path) => (typeof path === "string" ? { path } : path));
    this.#requests = new Requests(this.#server, this.#targets, spec.headers ?? {});
    this.#nextTarget = createSequence(spec.order ?? "uniform", spec.paths.length, spec.seed ?? 1);
    this.#random = createRandom(spec.seed ?? 1);
    const { checked = 0.01 } = spec;
    this.#checkEvery = checked > 0 ? Math.max(1, Math.round(1 / checked)) : Number.POSITIVE_INFINITY;
  }

  async run(): Promise<LoadResult> {
    for (let count = 0; count < this.#spec.connections; count++) this.#connections.push(newConnection());
    this.#start();
    const sweep = setInterval(() => this.#sweep(), sweepMs);
    const connected = Promise.all(this.#connections.map((connection) => this.#connect(connection)));
    if (this.#spec.rate !== undefined) {
      // At a steady rate, no request should wait for the first connections.
      await connected;
      this.#start();
      this.#watch();
    }
    await this.#finished.promise;
    clearInterval(sweep);
    for (const { socket } of this.#connections) socket?.end();
    return this.#result();
  }

  #start(): void {
    this.#begunMs = performance.now();
    this.#endedMs = this.#begunMs;
    this.#nextDue = this.#begunMs;
  }

  #result(): LoadResult {
    const failed = Object.values(this.#failures).reduce((sum, count) => sum + count, 0);
    const seconds = (this.#endedMs - this.#begunMs) / 1000;
    return {
      requests: this.#done,
      failed,
      failures: this.#failures,
      statuses: Object.fromEntries(this.#statuses),
      seconds,
      perSecond: seconds > 0 ? (this.#done - failed) / seconds : 0,
      bytes: this.#bytes,
      bodiesChecked: this.#checked,
      closing: this.#closing,
      p50Ms: this.#latencies.atMs(0.5),
      p99Ms: this.#latencies.atMs(0.99),
      p999Ms: this.#latencies.atMs(0.999),
      maxMs: this.#latencies.maxMs,
      quantilesMs: Array.from({ length: 100 }, (_, index) => this.#latencies.atMs((index + 0.5) / 100)),
    };
  }

  /** Whether another request can start. */
  #mayBegin(nowMs: number): boolean {
    const { requests = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY } = this.#spec;
    return this.#sent < requests && nowMs - this.#begunMs < seconds * 1000;
  }

  /** Resolves when the connection is open or refused. */
  async #connect(connection: Connection): Promise<void> {
    if (this.#isOver) return;
    await Bun.connect({
      hostname: this.#server.hostname,
      port: Number(this.#server.port || 80),
      data: connection,
      socket: this.#handlers,
    }).catch(() => this.#refused(connection));
  }

  readonly #handlers = {
    open: (socket: Socket<Connection>) => {
      socket.setNoDelay(true);
      socket.data.socket = socket;
      this.#next(socket.data);
    },
    data: (socket: Socket<Connection>, chunk: Buffer) => this.#receive(socket.data, chunk),
    close: (socket: Socket<Connection>) => this.#closed(socket.data, socket),
    error: (socket: Socket<Connection>) => this.#closed(socket.data, socket),
    // Bun.connect rejects in this case.
    connectError: () => {},
  };

  /**
   * A refused connection counts as a failed request, so that a load with a fixed number of requests
   * ends.
   */
  #refused(connection: Connection): void {
    const nowMs = performance.now();
    if (this.#spec.rate === undefined && this.#mayBegin(nowMs)) {
      this.#sent++;
      this.#fail("refused", nowMs);
    } else if (this.#due.length > 0) {
      this.#due.shift();
      this.#fail("refused", nowMs);
    }
    this.#endIfDone(nowMs);
    if (!this.#isOver) setTimeout(() => this.#connect(connection), reconnectMs);
  }

  #closed(connection: Connection, socket: Socket<Connection>): void {
    if (connection.socket !== socket) return;
    connection.socket = undefined;
    const waiting = this.#idle.indexOf(connection);
    if (waiting >= 0) this.#idle.splice(waiting, 1);
    if (connection.target >= 0) this.#settle(connection, "reset");
    this.#connect(connection);
  }

  /** Sends the next request on an open connection. */
  #next(connection: Connection): void {
    const nowMs = performance.now();
    if (this.#spec.rate !== undefined) {
      const dueMs = this.#due.shift();
      if (dueMs !== undefined) this.#send(connection, dueMs);
      else this.#idle.push(connection);
      this.#endIfDone(nowMs);
    } else if (this.#mayBegin(nowMs)) {
      this.#sent++;
      this.#send(connection, nowMs);
    } else this.#endIfDone(nowMs);
  }

  #send(connection: Connection, sinceMs: number): void {
    const target = this.#nextTarget();
    connection.target = target;
    connection.sinceMs = sinceMs;
    connection.left = -1;
    const isChecked = this.#sent % this.#checkEvery === 0 && this.#targets[target]?.hash !== undefined;
    connection.body = isChecked ? [] : undefined;
    const { socket } = connection;
    if (socket !== undefined && !this.#requests.write(socket, target)) socket.terminate();
  }

  /** Starts the requests that are due, at the rate. */
  #watch(): void {
    if (this.#isOver) return;
    const nowMs = performance.now();
    const { rate = 1, isRandom = false, between } = this.#spec;
    while (this.#nextDue <= nowMs && this.#mayBegin(this.#nextDue)) {
      this.#sent++;
      const sinceMs = between === "sleep" ? nowMs : this.#nextDue;
      // The one that was idle longest, so that no server closes it at the same moment.
      const connection = this.#idle.shift();
      if (connection === undefined) this.#due.push(sinceMs);
      else this.#send(connection, sinceMs);
      this.#nextDue += ((isRandom ? -Math.log1p(-this.#random()) : 1) * 1000) / rate;
    }
    if (!this.#mayBegin(this.#nextDue)) {
      this.#endIfDone(nowMs);
      return;
    }
    const leftMs = this.#nextDue - performance.now();
    if (between === "sleep") setTimeout(() => this.#watch(), Math.max(1, leftMs));
    else if (between !== "poll" && leftMs > pollMs) setTimeout(() => this.#watch(), leftMs - pollMs);
    else setImmediate(() => this.#watch());
  }

  #receive(connection: Connection, chunk: Buffer): void {
    if (connection.target < 0) this.#drop(connection);
    else if (connection.left >= 0) this.#receiveBody(connection, chunk);
    else {
      const bytes = connection.begun === undefined ? chunk : Buffer.concat([connection.begun, chunk]);
      const head = readHead(bytes);
      if (head === undefined) connection.begun = Buffer.from(bytes);
      else if (this.#isHeadRight(connection, head)) this.#receiveBody(connection, bytes.subarray(head.end));
    }
  }

  #isHeadRight(connection: Connection, { status, length, closes }: Head): boolean {
    connection.begun = undefined;
    connection.left = length ?? 0;
    connection.closes = closes;
    if (closes) this.#closing++;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    const isExpected = status === (this.#targets[connection.target]?.expect ?? this.#spec.expect ?? 200);
    if (isExpected && length !== undefined) return true;
    this.#abandon(connection, isExpected ? "malformed" : "status");
    return false;
  }

  #receiveBody(connection: Connection, chunk: Buffer): void {
    connection.left -= chunk.length;
    this.#bytes += chunk.length;
    connection.body?.push(Buffer.from(chunk));
    if (connection.left > 0) return;
    if (connection.left < 0) {
      this.#abandon(connection, "malformed");
      return;
    }
    this.#settle(connection, this.#isBodyRight(connection) ? undefined : "body");
    if (connection.closes) this.#drop(connection);
    else if (connection.socket !== undefined) this.#next(connection);
  }

  #isBodyRight({ body, target }: Connection): boolean {
    if (body === undefined) return true;
    this.#checked++;
    return hashOf(Buffer.concat(body)) === this.#targets[target]?.hash;
  }

  /** Completes the request of a connection as successful or failed. */
  #settle(connection: Connection, failure?: FailureKind): void {
    const nowMs = performance.now();
    if (failure === undefined) {
      this.#latencies.add(nowMs - connection.sinceMs);
      this.#done++;
      this.#endedMs = nowMs;
    } else this.#fail(failure, nowMs);
    connection.target = -1;
    connection.begun = undefined;
    connection.body = undefined;
    this.#endIfDone(nowMs);
  }

  #fail(kind: FailureKind, nowMs: number): void {
    this.#failures[kind]++;
    this.#done++;
    this.#endedMs = nowMs;
  }

  #abandon(connection: Connection, kind: FailureKind): void {
    this.#settle(connection, kind);
    this.#drop(connection);
  }

  /** Replaces the connection with a new one. */
  #drop(connection: Connection): void {
    const { socket } = connection;
    connection.socket = undefined;
    connection.closes = false;
    socket?.end();
    this.#connect(connection);
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const connection of this.#connections) {
      const isLate = nowMs - connection.sinceMs > (this.#spec.timeoutMs ?? 30_000);
      if (connection.target >= 0 && isLate) this.#abandon(connection, "timeout");
    }
    this.#endIfDone(nowMs);
  }

  #endIfDone(nowMs: number): void {
    if (this.#isOver || this.#done < this.#sent) return;
    const mayBegin = this.#mayBegin(this.#spec.rate === undefined ? nowMs : this.#nextDue);
    if (mayBegin) return;
    this.#isOver = true;
    this.#finished.resolve();
  }
}

const newConnection = (): Connection => ({
  socket: undefined,
  target: -1,
  sinceMs: 0,
  begun: undefined,
  left: -1,
  closes: false,
  body: undefined,
});

/** The requests for all targets, serialized in advance into one buffer. */
class Requests {
  readonly #bytes: Buffer;
  readonly #starts: Uint32Array;

  constructor(server: URL, targets: readonly Target[], headers: Readonly<Record<string, string>>) {
    const prefix = server.pathname.replace(/\/$/, "");
    const common = toLines({ Host: server.host, ...headers });
    const texts = targets.map(
      ({ path, headers: own = {} }) => `GET ${prefix}${path} HTTP/1.1\r\n${common}${toLines(own)}\r\n`,
    );
    this.#starts = new Uint32Array(targets.length + 1);
    for (const [place, text] of texts.entries()) {
      this.#starts[place + 1] = (this.#starts[place] ?? 0) + Buffer.byteLength(text);
    }
    this.#bytes = Buffer.from(texts.join(""));
  }

  /** @returns whether all bytes were written; a healthy connection has room for a few hundred */
  write(socket: Socket<Connection>, target: number): boolean {
    const start = this.#starts[target] ?? 0;
    const length = (this.#starts[target + 1] ?? start) - start;
    return socket.write(this.#bytes, start, length) === length;
  }
}

const toLines = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

if (import.meta.main) {
  for await (const line of console) {
    // The end of the input yields an empty line.
    if (line === "") continue;
    const specs: LoadSpec | readonly LoadSpec[] = JSON.parse(line);
    const result = "url" in specs ? await runLoad(specs) : await Promise.all(specs.map(runLoad));
    process.stdout.write(`${JSON.stringify(result)}\n`);
  }
}
