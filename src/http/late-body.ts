import type { SendableBody } from "../cache/encoded-body.ts";

/** What the runtime's buffer of 16 kB holds, less the room that header fields need. */
const minStreamBytes = 14_000;

/** In a larger body, what the header fields cost no longer matters. */
const maxStreamBytes = 1_000_000;

/**
 * The body of a response whose handler returned a promise. If such a response does not fit into the runtime's
 * buffer, the runtime makes a system call for each part of each header field, some forty in all
 * (https://github.com/oven-sh/bun/pull/41341). A stream with a buffer for the whole body is sent at once, with
 * `Content-Length`.
 */
export function toLateBody(body: SendableBody): SendableBody | ReadableStream {
  if (body instanceof Blob || body.length < minStreamBytes || body.length > maxStreamBytes) return body;
  const source: Bun.DirectUnderlyingSource = {
    type: "direct",
    pull: (controller) => {
      controller.write(body);
      controller.end();
    },
  };
  return new ReadableStream(source, { highWaterMark: body.length + 1 });
}
