import type { Parts } from "../parts.ts";
import { answerBeforehand } from "./answers.ts";

/** The result of a bulk run. As on the platform its address is secret enough: no token is asked for. */
export async function answerBulkFile(parts: Parts, request: Request, name: string): Promise<Response> {
  const effects = parts.faults.draw("BulkDownload");
  const slow = effects.find((effect) => effect.kind === "slow");
  if (slow !== undefined) await Bun.sleep(slow.latencyMs);
  const effect = effects.find(({ kind }) => kind !== "slow");
  const beforehand = answerBeforehand(effect, request);
  if (beforehand !== undefined) return beforehand;

  const path = parts.bulk.findFile(name);
  if (path === undefined) return new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
  parts.counters.bulkDownloads += 1;
  const file = Bun.file(path);
  const headers = { "Content-Type": "application/jsonl" };
  if (effect?.kind === "halfJson") return new Response(file.slice(0, Math.ceil(file.size / 2)), { headers });
  return new Response(effect?.kind === "halfBody" ? cutFile(file) : file, { headers });
}

function cutFile(file: Bun.BunFile): ReadableStream<Uint8Array> {
  const reader = file
    .slice(0, Math.ceil(file.size / 2))
    .stream()
    .getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      // What was queued shall still go out before the connection breaks.
      await Bun.sleep(5);
      controller.error(null);
    },
  });
}
