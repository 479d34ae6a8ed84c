import type { FaultEffect } from "../faults.ts";

/** Every answer names its request; the platform's own clients quote this id in their errors. */
export function nameRequest(): string {
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

/** Errors below the application come as JSON; those of gateways come as pages. */
function answerStatus(status: number, retryAfter: string | undefined): Response {
  const wait = retryAfter ?? (status === 429 ? "2.0" : undefined);
  const headers: Record<string, string> = wait === undefined ? {} : { "Retry-After": wait };
  const message = messages[status];
  if (message !== undefined) return json(status, { errors: message }, headers);
  return new Response(page(`${status}`), { status, headers: { "Content-Type": "text/html", ...headers } });
}

function page(title: string): string {
  return `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>Something went wrong</h1></body></html>`;
}

/** An answer that knows nothing of the question; undefined where the fault lets the request get further. */
export function answerBeforehand(
  effect: FaultEffect | undefined,
  request: Request,
): Response | Promise<Response> | undefined {
  if (effect?.kind === "status") return answerStatus(effect.status, effect.retryAfter);
  if (effect?.kind === "html") return new Response(page("One moment"), { headers: { "Content-Type": "text/html" } });
  if (effect?.kind === "reset") return new Response(cut(new Uint8Array()));
  return effect?.kind === "hang" ? waitForever(request) : undefined;
}

/** What becomes of a good answer on its way. */
export async function mangle(effect: FaultEffect | undefined, response: Response): Promise<Response> {
  if (effect?.kind !== "halfBody" && effect?.kind !== "halfJson") return response;
  const whole = await response.bytes();
  const half = whole.subarray(0, Math.ceil(whole.length / 2));
  return new Response(effect.kind === "halfBody" ? cut(half) : half, {
    status: response.status,
    headers: response.headers,
  });
}

/**
 * A body that ends with the connection. Bun.serve corrects any Content-Length it is given, so the body goes in chunks
 * whose end never comes; clients report both cases alike. Failing with null keeps Bun from printing the error.
 */
function cut(start: Uint8Array): ReadableStream<Uint8Array> {
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
