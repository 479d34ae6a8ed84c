import { ServiceError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { generatedToken, type OperatorToken } from "./tokens.ts";

/** Wrong tokens per minute and network of clients. */
const maxWrongTokens = 10;
/** Sign-ins per minute and operator. */
const maxSignIns = 30;

/** Finds the operator of a token, and locks networks out that try wrong ones. */
export class TokenCheck {
  readonly #tokens: readonly OperatorToken[];
  readonly #onWrong: (network: string) => void;
  readonly #wrong = new RateLimiter(maxWrongTokens);
  readonly #right = new RateLimiter(maxSignIns);

  /** @param onWrong called for each wrong token */
  constructor(tokens: readonly OperatorToken[], onWrong: (network: string) => void) {
    this.#tokens = tokens;
    this.#onWrong = onWrong;
  }

  /** Whether the listener needs a token at all. */
  get isNeeded(): boolean {
    return this.#tokens.length > 0;
  }

  /**
   * Refuses the right token as well, if somebody chose it: a response would tell that it is right.
   * @throws ServiceError `too_many_requests`
   */
  requireUnlocked(network: string): void {
    if (this.#wrong.allows(network)) return;
    const { resetS: retryAfterS } = this.#wrong.take(network);
    throw new ServiceError("too_many_requests", "There were too many wrong tokens from this network.", { retryAfterS });
  }

  /**
   * Finds a generated token also for a locked network: nobody can guess one, and guesses of others must
   * not keep it out.
   * @returns undefined for a wrong token, which counts
   * @throws ServiceError `too_many_requests`
   */
  find(token: string, network: string): OperatorToken | undefined {
    const digest = Buffer.from(sha256(token));
    const known = token === "" ? [] : this.#tokens;
    // Compares with each in constant time: how long it takes says nothing about any of them.
    const [found] = known.filter((each) => crypto.timingSafeEqual(digest, Buffer.from(each.sha256)));
    if (found !== undefined && generatedToken.test(token)) return found;
    this.requireUnlocked(network);
    if (found !== undefined) return found;
    this.#wrong.take(network);
    this.#onWrong(network);
    return undefined;
  }

  /**
   * As `find`, to sign in: each time, a session and a record are stored.
   * @throws ServiceError `too_many_requests`
   */
  findToSignIn(token: string, network: string): OperatorToken | undefined {
    const found = this.find(token, network);
    if (found === undefined || this.#right.take(found.name).isAllowed) return found;
    throw new ServiceError("too_many_requests", `${found.name} signs in too often.`);
  }
}
