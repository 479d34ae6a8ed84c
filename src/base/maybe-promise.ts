/** A result, or the promise of one. An embedded store and a cache need no promise. */
export type MaybePromise<T> = T | Promise<T>;

/** Calls a function whose errors are to arrive by a promise, even if it throws them. */
export function attempt<T>(call: () => MaybePromise<T>): MaybePromise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Continues at once with a result that is there, and later with one that is promised. */
export function chain<T, Next>(result: MaybePromise<T>, next: (result: T) => MaybePromise<Next>): MaybePromise<Next> {
  return result instanceof Promise ? result.then(next) : next(result);
}
