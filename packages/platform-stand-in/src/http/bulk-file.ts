import type { Components } from "../components.ts";
import { earlyResponse } from "./responses.ts";

/** Download of a bulk result. As on the platform, it needs no token because its URL is secret. */
export async function handleBulkFile(components: Components, request: Request, name: string): Promise<Response> {
  const effects = components.faults.trigger("BulkDownload");
  const slow = effects.find((effect) => effect.kind === "slow");
  if (slow !== undefined) await Bun.sleep(slow.latencyMs);
  const effect = effects.find(({ kind }) => kind !== "slow");
  const early = earlyResponse(effect, request);
  if (early !== undefined) return early;

  const path = components.bulk.findFile(name);
  if (path === undefined) return new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
  components.counters.bulkDownloads += 1;
  const file = Bun.file(path);
  const headers = { "Content-Type": "application/jsonl" };
  if (effect?.kind === "halfJson") return new Response(file.slice(0, Math.ceil(file.size / 2)), { headers });
  return new Response(effect?.kind === "halfBody" ? truncatedFile(file) : file, { headers });
}

function truncatedFile(file: Bun.BunFile): ReadableStream<Uint8Array> {
  const reader = file
    .slice(0, Math.ceil(file.size / 2))
    .stream()
    .getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      // Let queued data be sent before the connection breaks.
      await Bun.sleep(5);
      controller.error(null);
    },
  });
}
