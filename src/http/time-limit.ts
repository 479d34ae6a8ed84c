import { ServiceError } from "../base/errors.ts";
import { withTimeout } from "../base/time.ts";

/** Pages must not hang when the store does. */
const limitMs = 20_000;

/** @throws ServiceError `unavailable` when a page takes too long; its work continues */
export async function limitTime<T>(work: T | Promise<T>): Promise<T> {
  return await withTimeout(work, limitMs, () => {
    throw new ServiceError("unavailable", "The page took too long to load.");
  });
}
