import { prepareResponse } from "../cache/response.ts";
import type { Handler } from "./endpoint.ts";
import type { RenderPage, Viewer } from "./page.ts";
import { parameter, targetOf } from "./request.ts";
import { limitTime } from "./time-limit.ts";

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
