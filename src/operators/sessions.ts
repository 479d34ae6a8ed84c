import { randomBytes } from "node:crypto";
import { sha256 } from "../base/hash.ts";
import type { Database } from "../database/database.ts";
import type { Viewer } from "../http/page.ts";
import { findSession, removeOtherSessions, removeSession, saveSession } from "./session-store.ts";
import type { OperatorToken } from "./tokens.ts";

const lifetimeS = 12 * 3600;

/** With this prefix, only a response over TLS from the same host can set the cookie. */
const secureName = "__Host-pds_session";
const plainName = "pds_session";

export interface SessionStore {
  readonly reader: Database;
  readonly writer: Database;
}

/** The sessions of operators who signed in. Their ids are only in the cookies of browsers. */
export class Sessions {
  readonly #store: SessionStore;
  readonly #tokens: readonly OperatorToken[];

  /** @param tokens those that are valid; a session ends with its token, and does not come back with it */
  constructor(store: SessionStore, tokens: readonly OperatorToken[]) {
    this.#store = store;
    this.#tokens = tokens;
  }

  /** @returns undefined for a request without the cookie of a session; a promise of undefined if it has ended */
  find(request: Request): Promise<Viewer | undefined> | undefined {
    const id = idOf(request);
    return id === undefined ? undefined : this.#find(id);
  }

  async #find(id: string): Promise<Viewer | undefined> {
    const session = await findSession(this.#store.reader, keyOf(id));
    if (session === undefined) return undefined;
    const token = this.#tokens.find(({ name }) => name === session.operator);
    if (token === undefined || session.proof !== proofOf(id, token)) {
      // Not awaited, because an import may hold the store. Without it, the next start removes the session.
      void removeSession(this.#store.writer, keyOf(id)).catch(() => {});
      return undefined;
    }
    return { operator: token.name, role: token.role, formToken: formTokenOf(id) };
  }

  /** Ends the sessions of the operators whose tokens were withdrawn. */
  async endWithdrawn(): Promise<void> {
    await removeOtherSessions(
      this.#store.writer,
      this.#tokens.map(({ name }) => name),
    );
  }

  /**
   * Begins a session with a new id, and ends the one that the browser had: somebody else may know
   * its id.
   * @returns the cookie
   */
  async begin(request: Request, token: OperatorToken): Promise<string> {
    const id = randomBytes(32).toString("base64url");
    const session = { id: keyOf(id), operator: token.name, proof: proofOf(id, token) };
    await saveSession(this.#store.writer, session, lifetimeS);
    await this.#remove(request);
    // A browser behind a proxy that terminates TLS names the address that it sees.
    const isSecure = request.headers.get("origin")?.startsWith("https:") === true;
    return cookie(isSecure ? secureName : plainName, id, lifetimeS);
  }

  /** Ends the session of a request. @returns the cookie that removes its id from the browser */
  async end(request: Request): Promise<string> {
    await this.#remove(request);
    return cookie(findCookie(request, secureName) === undefined ? plainName : secureName, "", 0);
  }

  async #remove(request: Request): Promise<void> {
    // Both: after the one, the other would count.
    for (const id of [findCookie(request, secureName), findCookie(request, plainName)]) {
      if (id !== undefined) await removeSession(this.#store.writer, keyOf(id));
    }
  }
}

/** Token that the forms of a session send: a page of another site cannot know it. */
const formTokenOf = (id: string) => sha256(`form ${id}`);

const keyOf = (id: string) => sha256(`session ${id}`);

/** Tells nothing about the token, even if it is short, to somebody who reads the store. */
const proofOf = (id: string, { sha256: digest }: OperatorToken) => sha256(`proof ${id} ${digest}`);

const idOf = (request: Request) => findCookie(request, secureName) ?? findCookie(request, plainName);

function findCookie({ headers }: Request, name: string): string | undefined {
  const field = headers.get("cookie");
  if (field === null) return undefined;
  return field.match(new RegExp(`(?:^|;\\s*)${name}=([\\w-]{43})(?:;|$)`))?.[1];
}

function cookie(name: string, value: string, seconds: number): string {
  const secure = name === secureName ? "; Secure" : "";
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
