import type { CatalogSnapshot } from "../catalog/catalog.ts";
import type { FileProgress } from "./run.ts";
import type { BulkWriter } from "./writer.ts";

/**
 * `nested`: each parent before its children. `childrenFirst`: the lines of a batch in reverse.
 * `shuffled`: the lines of a batch of products in random order, which exposes readers that rely on
 * the order.
 */
export const lineOrders = ["nested", "childrenFirst", "shuffled"] as const;

export type LineOrder = (typeof lineOrders)[number];

/** Maximum time of writing before pending requests get a turn. */
const sliceMs = 8;
/** Products whose lines are ordered and written together. */
const batchSize = 100;

export interface FileTask {
  readonly path: string;
  readonly snapshot: CatalogSnapshot;
  readonly writer: BulkWriter;
  readonly order: LineOrder;
  readonly random: () => number;
  /** Number of products to write; smaller than the snapshot for a run that fails. */
  readonly products: number;
  /** Writes every third line twice, but counts it once. */
  readonly repeats: boolean;
  readonly signal: AbortSignal;
}

/**
 * Writes the lines of a run to its file, one batch in memory at a time. Stops early when aborted.
 */
export async function writeBulkFile(task: FileTask, progress: FileProgress): Promise<void> {
  const sink = Bun.file(task.path).writer({ highWaterMark: 1 << 20 });
  let sliceEnds = performance.now() + sliceMs;
  for (let first = 0; first < task.products && !task.signal.aborted; first += batchSize) {
    const last = Math.min(first + batchSize, task.products);
    const lines: string[] = [];
    for (let index = first; index < last; index += 1) task.writer.writeProduct(task.snapshot.at(index), lines);
    const arranged = arrange(lines, task.order, task.random);
    const repeated = task.repeats ? arranged.filter((_, index) => index % 3 === 0) : [];
    const text = `${[...arranged, ...repeated].join("\n")}\n`;
    progress.bytes += await sink.write(text);
    progress.objects += lines.length;
    if (performance.now() > sliceEnds) {
      await new Promise(setImmediate);
      sliceEnds = performance.now() + sliceMs;
    }
  }
  await sink.end();
}

/** `random` returns a number in [0, 1). */
function arrange(lines: string[], order: LineOrder, random: () => number): string[] {
  if (order === "nested") return lines;
  if (order === "childrenFirst") return lines.reverse();
  for (let index = lines.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    const line = lines[index] as string;
    lines[index] = lines[other] as string;
    lines[other] = line;
  }
  return lines;
}
