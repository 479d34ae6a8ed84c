import type { OperationName } from "./queries.ts";
import { isOfProducts, mayRetry, type RequestFailure, ShopifyError } from "./retry.ts";

/** Requests that fail in a row, each after its retries, until an operation is no longer tried. */
const maxFailures = 5;
/** The same for failures that are about one product each: a few must not stop the others. */
const maxPartialFailures = 50;
const openMs = 10_000;

interface Circuit {
  /** Failures in a row, weighted by what they are about. */
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
    // It may never end: its client may give up, for example.
    circuit.openUntilMs = this.#nowMs() + openMs;
    return true;
  }

  succeed(operation: OperationName): void {
    this.#circuits.delete(operation);
  }

  /** @returns the error to throw */
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

/** An outage may look the same, but is temporary. */
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
