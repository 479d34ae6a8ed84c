import { ServiceError } from "../base/errors.ts";
import { withTimeout } from "../base/time.ts";
import { prepareResponse } from "../cache/response.ts";
import type { Handler } from "./endpoint.ts";
import type { RenderPage, Viewer } from "./page.ts";
import { parameter, targetOf } from "./request.ts";

/** Pages must not hang when the store does. */
const limitMs = 20_000;

/** @throws ServiceError `unavailable` when a page takes too long; its work continues */
export async function limitTime<T>(work: T | Promise<T>): Promise<T> {
  return await withTimeout(work, limitMs, () => {
    throw new ServiceError("unavailable", "The page took too long to load.");
  });
}

/**
 * @param toHost determines the host in the URL that the page receives
 * @param viewer undefined on the public listener
 */
export function pageHandler(
  render: RenderPage,
  toHost: (request: Request) => string = () => "localhost",
  viewer?: Viewer,
): Handler {
  return async (request) => {
    const url = new URL(`http://${toHost(request)}${targetOf(request)}`);
    const page = await limitTime(render({ url, parameter: (name) => parameter(request, name), viewer }));
    return page && prepareResponse({ ...page, isRead: true });
  };
}
