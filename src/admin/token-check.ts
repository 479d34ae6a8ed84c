import { ServiceError } from "../errors.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { type OperatorToken, sha256 } from "../model/operator.ts";

/** Wrong tokens per minute and network of clients. */
const maxWrongTokens = 10;

/** Finds the operator of a token, and locks networks out that try wrong ones. */
export class TokenCheck {
  readonly #tokens: () => readonly OperatorToken[];
  readonly #wrong = new RateLimiter(maxWrongTokens);

  /** @param tokens those that are valid at the moment */
  constructor(tokens: () => readonly OperatorToken[]) {
    this.#tokens = tokens;
  }

  /** Whether the listener needs a token at all. */
  get isNeeded(): boolean {
    return this.#tokens().length > 0;
  }

  /**
   * Refuses the right token as well: a response would tell that it is right.
   * @throws ServiceError `too_many_requests`
   */
  requireUnlocked(network: string): void {
    if (this.#wrong.allows(network)) return;
    const { resetS: retryAfterS } = this.#wrong.take(network);
    throw new ServiceError("too_many_requests", "There were too many wrong tokens from this network.", { retryAfterS });
  }

  /**
   * @returns undefined for a wrong token, which counts
   * @throws ServiceError `too_many_requests`
   */
  find(token: string, network: string): OperatorToken | undefined {
    this.requireUnlocked(network);
    const digest = Buffer.from(sha256(token));
    // Compares with each in constant time: how long it takes says nothing about any of them.
    const [found] = this.#tokens().filter((known) => crypto.timingSafeEqual(digest, Buffer.from(known.sha256)));
    if (found === undefined) this.#wrong.take(network);
    return found;
  }
}
