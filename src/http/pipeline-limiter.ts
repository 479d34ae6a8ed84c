import type { Server } from "bun";

/** Requests follow each other closely if there is less than this between them. */
const closeMs = 1;
/** As many requests may follow each other closely, and then as many in each turn, unseen: seeing costs. */
const maxUnseen = 64;
/** Requests of one connection that are answered in one turn of the event loop. */
const maxPerTurn = 4;

/**
 * A connection can send many requests at once, and the runtime answers all of them before it turns
 * to the next connection. This closes such a connection after some of them; clients send the others
 * again (RFC 9112, section 9.3.2).
 */
export class PipelineLimiter {
  #lastMs = 0;
  #close = 0;
  #inTurn = 0;
  #connection = "";
  #ofConnection = 0;

  /** Whether the connection of this request must close. Call it once for each request. */
  isExceeded(request: Request, server: Server<undefined>, nowMs: number): boolean {
    this.#close = nowMs - this.#lastMs < closeMs ? this.#close + 1 : 0;
    this.#lastMs = nowMs;
    if (this.#close < maxUnseen) return false;
    if (this.#inTurn++ === 0) setImmediate(() => this.#endTurn());
    if (this.#inTurn <= maxUnseen) return false;
    const peer = server.requestIP(request);
    const connection = `${peer?.address} ${peer?.port}`;
    // Requests of a connection follow each other.
    this.#ofConnection = connection === this.#connection ? this.#ofConnection + 1 : 1;
    this.#connection = connection;
    return this.#ofConnection >= maxPerTurn;
  }

  #endTurn(): void {
    this.#inTurn = 0;
    this.#connection = "";
  }
}
