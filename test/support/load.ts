import type { Socket } from "bun";
import { parseResponse, type WireResponse } from "./wire.ts";

/** A request with its expected status: `GET`, or `POST` of a body. */
export interface LoadRequest {
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Expected statuses; default 200 and 304. */
  readonly statuses?: readonly number[];
}

export interface Load {
  /** Base URL of the service. With several, connections go to the ready ones by turns. */
  readonly url: string | readonly string[];
  /** Requests to send in a loop, or a function of the number of the request. */
  readonly paths: readonly (string | LoadRequest)[] | ((request: number) => string | LoadRequest);
  readonly connections: number;
  /** Total number of requests; without it, the load ends after `seconds` or by the signal. */
  readonly requests?: number;
  readonly seconds?: number;
  readonly signal?: AbortSignal;
  /** Requests per second in total; default as many as possible. */
  readonly rate?: number;
  /** With `Connection: close`, each request has a connection of its own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether to send requests to a URL now, as a load balancer decides it. */
  readonly isReady?: (url: string) => boolean;
  /** Checks each response. @returns what is wrong with it */
  readonly check?: (ask: LoadRequest, answer: WireResponse, url: string, tookMs: number) => string | undefined;
}

export interface LoadResult {
  /** Requests that were sent: successful and failed ones. */
  readonly requests: number;
  readonly answered: number;
  readonly statuses: Readonly<Record<number, number>>;
  /** Number of responses by URL. */
  readonly from: Readonly<Record<string, number>>;
  readonly failed: number;
  /** Number of failures by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** Number of opened connections. */
  readonly opened: number;
  /** Number of responses with `Connection: close`. */
  readonly closing: number;
  /** Times of the first failures, in milliseconds after the start. */
  readonly failedAtMs: readonly number[];
  readonly longestMs: number;
  readonly tookMs: number;
}

/** Failure instead of a response. */
type Failure =
  | "refused"
  | "reset"
  | "closed before the response was complete"
  | "request timeout"
  | `malformed: ${string}`;

/** Timeout of a request. */
const timeoutMs = 20_000;
const usual = [200, 304];

/**
 * Sends requests on keep-alive connections, one at a time on each, and counts the results. Nothing
 * is retried: a request without the expected response has failed. Only a connection that was closed
 * while idle is reopened. It parses and checks every response; the benchmarks have a cheaper
 * generator (bench/support/load.ts).
 */
export async function runLoad(load: Load): Promise<LoadResult> {
  const urls = [load.url].flat();
  const begunMs = performance.now();
  const endMs = load.seconds === undefined ? Number.POSITIVE_INFINITY : begunMs + load.seconds * 1000;
  const most = load.requests ?? Number.POSITIVE_INFINITY;
  const statuses: Record<number, number> = {};
  const from: Record<string, number> = {};
  const failures: Record<string, number> = {};
  const failedAtMs: number[] = [];
  const counts = { begun: 0, answered: 0, failed: 0, opened: 0, closing: 0, longestMs: 0 };
  let turn = 0;

  const next = (): LoadRequest | undefined => {
    if (counts.begun >= most || load.signal?.aborted || performance.now() >= endMs) return undefined;
    const number = counts.begun++;
    const { paths } = load;
    const asked = typeof paths === "function" ? paths(number) : (paths[number % paths.length] ?? "/");
    return typeof asked === "string" ? { path: asked } : asked;
  };
  const isReady = (url: string) => load.isReady?.(url) ?? true;
  const choose = (): string => {
    const ready = urls.filter(isReady);
    const among = ready.length > 0 ? ready : urls;
    return among[turn++ % among.length] as string;
  };
  const fail = (why: string) => {
    counts.failed++;
    failures[why] = (failures[why] ?? 0) + 1;
    if (failedAtMs.length < 20) failedAtMs.push(Math.round(performance.now() - begunMs));
  };

  async function client(index: number): Promise<void> {
    let connection: Connection | undefined;
    for (let number = 0; ; number++) {
      const { rate } = load;
      if (rate !== undefined) {
        const dueMs = begunMs + ((number * load.connections + index) / rate) * 1000;
        await Bun.sleep(Math.max(0, Math.min(dueMs, endMs) - performance.now()));
      }
      const ask = next();
      if (ask === undefined) break;
      if (connection !== undefined && (connection.isClosed || !isReady(connection.url))) {
        connection.close();
        connection = undefined;
      }
      const sentMs = performance.now();
      if (connection === undefined) {
        connection = await Connection.open(choose());
        if (connection === undefined) {
          fail("refused");
          await Bun.sleep(5);
          continue;
        }
        counts.opened++;
      }
      const answer = await connection.ask(ask, load.headers);
      const tookMs = performance.now() - sentMs;
      counts.longestMs = Math.max(counts.longestMs, tookMs);
      if (typeof answer === "string") {
        fail(answer);
        connection.close();
        connection = undefined;
        continue;
      }
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      from[connection.url] = (from[connection.url] ?? 0) + 1;
      const isRight = (ask.statuses ?? usual).includes(answer.status);
      const problem = isRight ? load.check?.(ask, answer, connection.url, tookMs) : `status ${answer.status}`;
      if (problem === undefined) counts.answered++;
      else fail(problem);
      const isClosing = answer.headers.get("connection")?.toLowerCase() === "close";
      if (isClosing) counts.closing++;
      if (isClosing || load.headers?.Connection === "close") {
        connection.close();
        connection = undefined;
      }
    }
    connection?.close();
  }

  await Promise.all(Array.from({ length: load.connections }, (_, index) => client(index)));
  const { begun, ...others } = counts;
  return { requests: begun, ...others, statuses, from, failures, failedAtMs, tookMs: performance.now() - begunMs };
}

/** Sends requests while something happens. */
export async function loadDuring(load: Omit<Load, "signal">, act: () => Promise<unknown>): Promise<LoadResult> {
  const over = new AbortController();
  const loading = runLoad({ ...load, signal: over.signal });
  await act().finally(() => over.abort());
  return await loading;
}

/** A keep-alive connection. */
class Connection {
  readonly url: string;
  isClosed = false;
  readonly #host: string;
  #socket: Socket<undefined> | undefined;
  #bytes: Buffer = Buffer.alloc(0);
  #unsent: Buffer = Buffer.alloc(0);
  #settle: ((answer: WireResponse | Failure) => void) | undefined;

  private constructor(url: string) {
    this.url = url;
    this.#host = new URL(url).host;
  }

  /** @returns undefined if it is refused */
  static async open(url: string): Promise<Connection | undefined> {
    const { hostname, port } = new URL(url);
    const connection = new Connection(url);
    try {
      connection.#socket = await Bun.connect<undefined>({
        hostname,
        port: Number(port),
        socket: {
          data: (_, chunk) => connection.#take(chunk),
          drain: () => connection.#send(),
          end: () => connection.#end("closed before the response was complete"),
          close: (_, error) => connection.#end(error == null ? "closed before the response was complete" : "reset"),
          error: () => connection.#end("reset"),
          connectError: () => {},
        },
      });
      return connection;
    } catch {
      return undefined;
    }
  }

  ask(
    { path, headers, body }: LoadRequest,
    common?: Readonly<Record<string, string>>,
  ): Promise<WireResponse | Failure> {
    const length = body === undefined ? {} : { "Content-Length": `${Buffer.byteLength(body)}` };
    const fields = Object.entries({ Host: this.#host, ...length, ...common, ...headers });
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const method = body === undefined ? "GET" : "POST";
    this.#unsent = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n${body ?? ""}`);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#done("request timeout"), timeoutMs);
      this.#settle = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      this.#send();
    });
  }

  close(): void {
    this.isClosed = true;
    this.#socket?.end();
  }

  #send(): void {
    const written = this.#socket?.write(this.#unsent) ?? -1;
    if (written < 0) this.#end("reset");
    else this.#unsent = this.#unsent.subarray(written);
  }

  #take(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#bytes, chunk]);
    try {
      const answer = parseResponse(this.#bytes);
      if (answer === undefined) return;
      const isMore = answer.size !== this.#bytes.length;
      this.#bytes = Buffer.alloc(0);
      if (answer.isUnbounded) this.#done("malformed: no Content-Length");
      else this.#done(isMore ? "malformed: data after the response" : answer);
    } catch (error) {
      this.#done(`malformed: ${(error as Error).message}`);
    }
  }

  #end(how: Failure): void {
    this.isClosed = true;
    this.#done(how);
  }

  #done(answer: WireResponse | Failure): void {
    const settle = this.#settle;
    this.#settle = undefined;
    // Unexpected data makes the connection unusable.
    if (settle === undefined) this.isClosed = true;
    else settle(answer);
  }
}
