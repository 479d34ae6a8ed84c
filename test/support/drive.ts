import type { Socket } from "bun";
import { parseAnswer, type WireAnswer } from "./wire.ts";

/** What is asked for, and how. */
export interface Ask {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** 200 and 304 unless said otherwise. */
  readonly statuses?: readonly number[];
}

export interface Load {
  /** Where the service is; of several each connection goes to one that is ready, in turns. */
  readonly url: string | readonly string[];
  /** What is asked for, one after the other and then again; or by the number of the request. */
  readonly paths: readonly (string | Ask)[] | ((request: number) => string | Ask);
  readonly connections: number;
  /** How many requests in all; without it for `seconds`, or until the signal says so. */
  readonly requests?: number;
  readonly seconds?: number;
  readonly signal?: AbortSignal;
  /** Requests a second in all; as many as can be unless it is given. */
  readonly rate?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether requests should be sent to an address now, as a balancer knows it. */
  readonly isReady?: (url: string) => boolean;
  /** Told of each answer. @returns what is wrong with it */
  readonly check?: (ask: Ask, answer: WireAnswer, url: string) => string | undefined;
}

export interface Outcome {
  /** Requests that were begun: the answered ones and the failed ones. */
  readonly requests: number;
  readonly answered: number;
  readonly statuses: Readonly<Record<number, number>>;
  /** Answers by the address that gave them. */
  readonly from: Readonly<Record<string, number>>;
  readonly failed: number;
  /** How often what went wrong. */
  readonly failures: Readonly<Record<string, number>>;
  /** Connections that were opened. */
  readonly opened: number;
  /** Connections that the answer said would be closed. */
  readonly closing: number;
  /** When requests failed, in milliseconds after the beginning; the first of them. */
  readonly failedAtMs: readonly number[];
  readonly longestMs: number;
  readonly tookMs: number;
}

/** What is told instead of an answer. */
type Failure = "refused" | "reset" | "closed before the answer was whole" | "no answer in time" | `unlike: ${string}`;

/** No request takes longer. */
const patienceMs = 20_000;
const usual = [200, 304];

/**
 * Asks over and over on kept-alive connections, one request outstanding on each, and counts. Nothing is tried again: a request
 * without its right answer has failed. Only a connection that was closed while nothing was asked on it is opened anew.
 */
export async function drive(load: Load): Promise<Outcome> {
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

  const next = (): Ask | undefined => {
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
      counts.longestMs = Math.max(counts.longestMs, performance.now() - sentMs);
      if (typeof answer === "string") {
        fail(answer);
        connection.close();
        connection = undefined;
        continue;
      }
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      from[connection.url] = (from[connection.url] ?? 0) + 1;
      const isRight = (ask.statuses ?? usual).includes(answer.status);
      const problem = isRight ? load.check?.(ask, answer, connection.url) : `status ${answer.status}`;
      if (problem === undefined) counts.answered++;
      else fail(problem);
      if (answer.headers.get("connection")?.toLowerCase() === "close") {
        counts.closing++;
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

/** A kept-alive connection. */
class Connection {
  readonly url: string;
  isClosed = false;
  readonly #host: string;
  #socket: Socket<undefined> | undefined;
  #bytes: Buffer = Buffer.alloc(0);
  #unsent: Buffer = Buffer.alloc(0);
  #settle: ((answer: WireAnswer | Failure) => void) | undefined;

  private constructor(url: string) {
    this.url = url;
    this.#host = new URL(url).host;
  }

  /** @returns undefined when it is refused */
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
          end: () => connection.#end("closed before the answer was whole"),
          close: (_, error) => connection.#end(error == null ? "closed before the answer was whole" : "reset"),
          error: () => connection.#end("reset"),
          connectError: () => {},
        },
      });
      return connection;
    } catch {
      return undefined;
    }
  }

  ask({ path, headers }: Ask, common?: Readonly<Record<string, string>>): Promise<WireAnswer | Failure> {
    const fields = Object.entries({ Host: this.#host, ...common, ...headers });
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    this.#unsent = Buffer.from(`GET ${path} HTTP/1.1\r\n${lines}\r\n`);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#done("no answer in time"), patienceMs);
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
      const answer = parseAnswer(this.#bytes);
      if (answer === undefined) return;
      const isMore = answer.size !== this.#bytes.length;
      this.#bytes = Buffer.alloc(0);
      if (answer.isUnbounded) this.#done("unlike: an answer without a length");
      else this.#done(isMore ? "unlike: more than the answer" : answer);
    } catch (error) {
      this.#done(`unlike: ${(error as Error).message}`);
    }
  }

  #end(how: Failure): void {
    this.isClosed = true;
    this.#done(how);
  }

  #done(answer: WireAnswer | Failure): void {
    const settle = this.#settle;
    this.#settle = undefined;
    // What comes when nothing was asked makes the connection useless.
    if (settle === undefined) this.isClosed = true;
    else settle(answer);
  }
}
