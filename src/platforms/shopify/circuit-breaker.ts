import type { OperationName } from "./queries.ts";
import { isOfProducts, mayRetry, type RequestFailure, ShopifyError } from "./retry.ts";

/** An operation is paused after this many requests in a row have failed, each after its retries. */
const maxFailures = 5;
/** A few failures of single products must not stop the others. */
const maxPartialFailures = 50;
const openMs = 10_000;

interface Circuit {
  /** Consecutive failures; those of single products weigh less. */
  failures: number;
  last: RequestFailure;
  /** Undefined while requests are sent. */
  openUntilMs: number | undefined;
}

/** Stops sending an operation that keeps failing. After a pause, the next request decides; others wait for it. */
export class CircuitBreaker {
  readonly #circuits = new Map<OperationName, Circuit>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /**
   * @returns whether this request decides, with its retries
   * @throws ShopifyError the last failure, if the operation is not to be sent now
   */
  check(operation: OperationName): boolean {
    const circuit = this.#circuits.get(operation);
    if (circuit?.openUntilMs === undefined) return false;
    if (circuit.openUntilMs > this.#nowMs()) throw new ShopifyError(operation, circuit.last, true);
    // This request may not end, for example if its client gives up.
    circuit.openUntilMs = this.#nowMs() + openMs;
    return true;
  }

  succeed(operation: OperationName): void {
    this.#circuits.delete(operation);
  }

  fail(operation: OperationName, failure: RequestFailure): ShopifyError {
    const weight = isOfOneProduct(failure) ? 1 : maxPartialFailures / maxFailures;
    const failures = (this.#circuits.get(operation)?.failures ?? 0) + weight;
    const isOpen = failures >= maxPartialFailures;
    this.#circuits.set(operation, {
      failures,
      last: failure,
      openUntilMs: isOpen ? this.#nowMs() + openMs : undefined,
    });
    return new ShopifyError(operation, failure, isOpen || concernsShop(failure));
  }
}

/** An outage may look the same, but can be retried. */
const isOfOneProduct = (failure: RequestFailure) => isOfProducts(failure) && !mayRetry(failure);

/** Whether any other request of the same kind would fail in the same way. */
function concernsShop(failure: RequestFailure): boolean {
  switch (failure.kind) {
    case "grant":
      return failure.status < 500;
    case "status":
      return [401, 402, 423].includes(failure.status);
    case "graphql":
      return failure.codes.some((code) => code === "ACCESS_DENIED" || code === "undefinedField");
    default:
      return false;
  }
}
