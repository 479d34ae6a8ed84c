/** An embedded store and a cache need no promise. */
export type MaybePromise<T> = T | Promise<T>;

export function attempt<T>(call: () => MaybePromise<T>): MaybePromise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Continues synchronously with a result, and later with a promise. */
export function chain<T, Next>(result: MaybePromise<T>, next: (result: T) => MaybePromise<Next>): MaybePromise<Next> {
  return result instanceof Promise ? result.then(next) : next(result);
}
