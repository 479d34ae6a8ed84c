import { ServiceError } from "../base/errors.ts";

/** Pages must not hang when the store does. */
const limitMs = 20_000;

/** @throws ServiceError `unavailable` when the work for a page takes too long; it continues meanwhile */
export async function limitTime<T>(work: T | Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => timeout.reject(new ServiceError("unavailable", "The page took too long to load.")),
    limitMs,
  );
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
