import type { ServiceResponse } from "./response.ts";

type Send = (path: string, signal: AbortSignal) => Promise<ServiceResponse>;

interface SharedRequest {
  readonly response: Promise<ServiceResponse>;
  readonly controller: AbortController;
  /** Calls that wait for the response. */
  waiting: number;
}

/**
 * Sends one request for all calls that want the same path at the same time. It is aborted when none
 * of them waits any more.
 */
export function shareRequests(send: Send): Send {
  const requests = new Map<string, SharedRequest>();
  return async (path, signal) => {
    signal.throwIfAborted();
    let request = requests.get(path);
    if (!request) {
      const controller = new AbortController();
      request = { response: send(path, controller.signal), controller, waiting: 0 };
      requests.set(path, request);
    }
    const { response, controller } = request;
    request.waiting++;
    let abort = () => {};
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason);
      signal.addEventListener("abort", abort);
    });
    try {
      return await Promise.race([response, aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
      request.waiting--;
      // Later calls get a response of their own.
      if (requests.get(path) === request && (!signal.aborted || request.waiting === 0)) requests.delete(path);
      if (request.waiting === 0) controller.abort();
    }
  };
}
