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

/**
 * Responds to a request as its faults want it.
 * @param latencyMs delay without a fault
 * @param respond is called unless a fault ends the request before it is handled
 */
export async function respondWithFaults(
  effects: readonly FaultEffect[],
  request: Request,
  latencyMs: number,
  respond: (effect: FaultEffect | undefined) => Promise<Response>,
): Promise<Response> {
  const waitMs = effects.reduce((sum, effect) => sum + (effect.kind === "slow" ? effect.latencyMs : 0), latencyMs);
  if (waitMs > 0) await Bun.sleep(waitMs);
  const effect = effects.find(({ kind }) => kind !== "slow");
  if (effect?.kind === "status") return statusResponse(effect.status, effect.retryAfter);
  if (effect?.kind === "html") return new Response(page("One moment"), { headers: { "Content-Type": "text/html" } });
  if (effect?.kind === "reset") return new Response(breakOff(new Blob()));
  if (effect?.kind === "hang") return await waitForever(request);
  const response = await respond(effect);
  if (effect?.kind !== "halfBody" && effect?.kind !== "halfJson") return response;
  const whole = await response.blob();
  const half = whole.slice(0, Math.ceil(whole.size / 2));
  const { status, headers } = response;
  return new Response(effect.kind === "halfBody" ? breakOff(half) : half, { status, headers });
}

/**
 * A body that breaks off with its connection. Bun.serve corrects a wrong Content-Length, so the
 * body is chunked and its end never comes; clients report both cases alike. Failing with null keeps
 * Bun from printing the error.
 */
function breakOff(start: Blob): ReadableStream<Uint8Array> {
  const reader = start.stream().getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      // Let queued data be sent before the connection breaks.
      if (start.size > 0) await Bun.sleep(5);
      controller.error(null);
    },
  });
}

function waitForever(request: Request): Promise<Response> {
  return new Promise((resolve) => request.signal.addEventListener("abort", () => resolve(new Response(null))));
}
