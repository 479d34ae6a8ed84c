import { prepareResponse } from "../cache/response.ts";
import { ServiceError } from "../errors.ts";
import type { Viewer } from "../model/operator.ts";
import type { RenderPage } from "../page.ts";
import type { Handler } from "./endpoint.ts";
import { parameter, targetOf } from "./request.ts";

/** Pages must not hang when the store does. */
const renderTimeoutMs = 20_000;

/**
 * Serves an HTML page or one of its files.
 * @param toHost determines the host of the URL that the page receives
 * @param viewer undefined on the public listener
 */
export function pageHandler(
  render: RenderPage,
  toHost: (request: Request) => string = () => "localhost",
  viewer?: Viewer,
): Handler {
  return async (request) => {
    const url = new URL(`http://${toHost(request)}${targetOf(request)}`);
    const timeout = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => timeout.reject(new ServiceError("unavailable", "The page took too long to load.")),
      renderTimeoutMs,
    );
    try {
      const page = await Promise.race([
        render({ url, parameter: (name) => parameter(request, name), viewer }),
        timeout.promise,
      ]);
      return page && prepareResponse(page);
    } finally {
      clearTimeout(timer);
    }
  };
}
