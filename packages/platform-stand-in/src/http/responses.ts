import type { FaultEffect } from "../faults.ts";

/** Id for `X-Request-Id`, in the platform's format. */
export function createRequestId(): string {
  return `${crypto.randomUUID()}-${Math.floor(Date.now() / 1000)}`;
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json; charset=utf-8", ...headers },
  });
}

const messages: Readonly<Record<number, string>> = {
  402: "Unavailable Shop",
  403: "Forbidden",
  423: "Locked",
  429: "Exceeded 2 calls per second for api client. Reduce request rates to resume uninterrupted service.",
  430: "Shopify Security Rejection",
  500: "Internal Server Error",
};

/** As on the platform, application errors are JSON and gateway errors are HTML pages. */
function statusResponse(status: number, retryAfter: string | undefined): Response {
  const wait = retryAfter ?? (status === 429 ? "2.0" : undefined);
  const headers: Record<string, string> = wait === undefined ? {} : { "Retry-After": wait };
  const message = messages[status];
  if (message !== undefined) return json(status, { errors: message }, headers);
  return new Response(page(`${status}`), { status, headers: { "Content-Type": "text/html", ...headers } });
}

function page(title: string): string {
  return `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>Something went wrong</h1></body></html>`;
}

/** Response for faults that end a request before it is handled; undefined for other faults. */
export function earlyResponse(
  effect: FaultEffect | undefined,
  request: Request,
): Response | Promise<Response> | undefined {
  if (effect?.kind === "status") return statusResponse(effect.status, effect.retryAfter);
  if (effect?.kind === "html") return new Response(page("One moment"), { headers: { "Content-Type": "text/html" } });
  if (effect?.kind === "reset") return new Response(truncated(new Uint8Array()));
  return effect?.kind === "hang" ? waitForever(request) : undefined;
}

/** Damages the body of a response if the fault says so. */
export async function damageBody(effect: FaultEffect | undefined, response: Response): Promise<Response> {
  if (effect?.kind !== "halfBody" && effect?.kind !== "halfJson") return response;
  const whole = await response.bytes();
  const half = whole.subarray(0, Math.ceil(whole.length / 2));
  return new Response(effect.kind === "halfBody" ? truncated(half) : half, {
    status: response.status,
    headers: response.headers,
  });
}

/**
 * A body that breaks off with its connection. Bun.serve corrects a wrong Content-Length, so the
 * body is chunked and its end never comes; clients report both cases alike. Failing with null keeps
 * Bun from printing the error.
 */
function truncated(start: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async start(controller) {
      if (start.length > 0) {
        controller.enqueue(start);
        await Bun.sleep(5);
      }
      controller.error(null);
    },
  });
}

function waitForever(request: Request): Promise<Response> {
  return new Promise((resolve) => request.signal.addEventListener("abort", () => resolve(new Response(null))));
}
