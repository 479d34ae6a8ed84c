import { ServiceError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { generatedToken, type OperatorToken } from "./tokens.ts";

/** Per minute and client network. */
const maxWrongTokens = 10;
/** Per minute and operator. */
const maxSignIns = 30;

/** Finds the operator of a token, and locks out networks that try wrong ones. */
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

  get isNeeded(): boolean {
    return this.#tokens.length > 0;
  }

  /**
   * Also refuses the right token, unless it was generated: accepting it would confirm a guess.
   * @throws ServiceError `too_many_requests`
   */
  requireUnlocked(network: string): void {
    if (this.#wrong.allows(network)) return;
    const { resetS: retryAfterS } = this.#wrong.take(network);
    throw new ServiceError("too_many_requests", "There were too many wrong tokens from this network.", { retryAfterS });
  }

  /**
   * Accepts a generated token even from a locked network: it cannot be guessed, and other clients'
   * guesses must not lock it out.
   * @returns undefined for a wrong token, which counts
   * @throws ServiceError `too_many_requests`
   */
  find(token: string, network: string): OperatorToken | undefined {
    const digest = Buffer.from(sha256(token));
    const known = token === "" ? [] : this.#tokens;
    // Compares all in constant time, so that the duration reveals nothing.
    const [found] = known.filter((each) => crypto.timingSafeEqual(digest, Buffer.from(each.sha256)));
    if (found !== undefined && generatedToken.test(token)) return found;
    this.requireUnlocked(network);
    if (found !== undefined) return found;
    this.#wrong.take(network);
    this.#onWrong(network);
    return undefined;
  }

  /**
   * Like `find`, but limited, because each sign-in stores a session and a record.
   * @throws ServiceError `too_many_requests`
   */
  findToSignIn(token: string, network: string): OperatorToken | undefined {
    const found = this.find(token, network);
    if (found === undefined || this.#right.take(found.name).isAllowed) return found;
    throw new ServiceError("too_many_requests", `${found.name} signs in too often.`);
  }
}
