import { randomBytes } from "node:crypto";
import { sha256 } from "../base/hash.ts";
import type { Database, Queryable } from "../database/database.ts";
import type { Viewer } from "../http/page.ts";
import type { OperatorToken } from "./tokens.ts";

const lifetimeS = 12 * 3600;

/** With this prefix, only a response over TLS from the same host can set the cookie. */
const secureName = "__Host-pds_session";
const plainName = "pds_session";

/** Only the cookies of browsers have the sessions' ids. */
export class Sessions {
  readonly #reader: Database;
  readonly #writer: Database;
  readonly #tokens: readonly OperatorToken[];

  /** @param tokens the valid ones; a session ends with its token, and does not come back with it */
  constructor(reader: Database, writer: Database, tokens: readonly OperatorToken[]) {
    this.#reader = reader;
    this.#writer = writer;
    this.#tokens = tokens;
  }

  /**
   * @returns undefined without a session cookie; a promise of undefined if the session has ended
   */
  find(request: Request): Promise<Viewer | undefined> | undefined {
    const id = idOf(request);
    return id === undefined ? undefined : this.#find(id);
  }

  async #find(id: string): Promise<Viewer | undefined> {
    const session = await findSession(this.#reader, keyOf(id));
    if (session === undefined) return undefined;
    const token = this.#tokens.find(({ name }) => name === session.operator);
    if (token === undefined || session.proof !== proofOf(id, token)) {
      // Not awaited, because an import may hold the store. If it fails, the next start removes the
      // session.
      void removeSession(this.#writer, keyOf(id)).catch(() => {});
      return undefined;
    }
    return { operator: token.name, role: token.role, formToken: formTokenOf(id) };
  }

  async endRevoked(): Promise<void> {
    await removeOtherSessions(
      this.#writer,
      this.#tokens.map(({ name }) => name),
    );
  }

  /**
   * Begins a session with a new id, and ends the browser's previous one, whose id others may know.
   * @returns the cookie
   */
  async begin(request: Request, token: OperatorToken): Promise<string> {
    const id = randomBytes(32).toString("base64url");
    const session = { id: keyOf(id), operator: token.name, proof: proofOf(id, token) };
    await saveSession(this.#writer, session, lifetimeS);
    await this.#remove(request);
    // A browser behind a proxy that terminates TLS names the address that it sees.
    const isSecure = request.headers.get("origin")?.startsWith("https:") === true;
    return cookie(isSecure ? secureName : plainName, id, lifetimeS);
  }

  /** @returns the cookie that removes the session's id from the browser */
  async end(request: Request): Promise<string> {
    await this.#remove(request);
    return cookie(findCookie(request, secureName) === undefined ? plainName : secureName, "", 0);
  }

  async #remove(request: Request): Promise<void> {
    // Both, because the other cookie would take effect after one is removed.
    for (const id of [findCookie(request, secureName), findCookie(request, plainName)]) {
      if (id !== undefined) await removeSession(this.#writer, keyOf(id));
    }
  }
}

/** Pages of other sites cannot know this token of a session's forms. */
const formTokenOf = (id: string) => sha256(`form ${id}`);

const keyOf = (id: string) => sha256(`session ${id}`);

/** Reveals nothing about the token, even a short one, to someone who reads the store. */
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

/** The stored part of a session, which is not enough to use it. */
interface StoredSession {
  /** Hash of the session's id. */
  readonly id: string;
  readonly operator: string;
  /** Hash of the session's id and of the operator's token. */
  readonly proof: string;
}

/** Also removes sessions that have expired. */
async function saveSession(database: Database, { id, operator, proof }: StoredSession, seconds: number): Promise<void> {
  await database.inTransaction(async ({ sql, engine }) => {
    await sql`DELETE FROM operator_session WHERE expires_at <= ${sql.unsafe(engine.now)}`;
    await sql`
      INSERT INTO operator_session (id, operator, proof, expires_at)
      VALUES (${id}, ${operator}, ${proof}, ${sql.unsafe(engine.later(seconds))})`;
  });
}

async function findSession({ read, engine }: Queryable, id: string): Promise<StoredSession | undefined> {
  const [session] = await read<StoredSession>(
    `SELECT id, operator, proof FROM operator_session WHERE id = $1 AND expires_at > ${engine.now}`,
    [id],
  );
  return session;
}

async function removeSession(database: Database, id: string): Promise<void> {
  await database.inTransaction(({ sql }) => sql`DELETE FROM operator_session WHERE id = ${id}`);
}

/** Removes the sessions of all but these operators. */
async function removeOtherSessions(database: Database, operators: readonly string[]): Promise<void> {
  // SQL has no empty lists, and no operator has the empty name.
  const kept = ["", ...operators];
  await database.inTransaction(({ sql }) => sql`DELETE FROM operator_session WHERE operator NOT IN ${sql(kept)}`);
}
