import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../../errors.ts";
import { type Id, toId } from "../../model/product.ts";
import { createTemporaryFolder, TemporaryFile, type TemporaryFolder } from "../../temporary-folder.ts";
import { assemble } from "./assemble.ts";
import type { BulkResult } from "./bulk.ts";
import { splitLines } from "./lines.ts";
import type { CompleteProduct } from "./queries.ts";

const closeBrace = "}".charCodeAt(0);

/** Bytes of a part: it is held in memory whole when its products are put together. */
const partBytes = 1 * 1024 * 1024;
const maxParts = 512;
const maxDownloads = 5;
/** A download that brings nothing for so long is given up. */
const stallMs = 30_000;
/** Before the second download, twice that before the third, and so on. */
const pauseMs = 50;
const partsBetweenCollections = 16;

/**
 * The results of bulk runs, cut into parts by product on the way from the network to the disk, so that the lines of a product, in
 * whatever order they came, lie in one part. Memory holds a part at a time, and about 50 bytes a variant.
 */
export class PartitionedResult {
  /** Every product of the result. */
  readonly ids = new Set<Id>();
  readonly #folder: TemporaryFolder;
  readonly #parts: number;
  readonly #writers: TemporaryFile[] = [];
  /** In which part a variant's product lies; a variant's metafields name only the variant. */
  readonly #partOfVariant = new Map<Id, number>();
  /** Variants some of whose metafields came before them: the rest waits behind those, so that siblings keep their order. */
  readonly #early = new Set<Id>();

  private constructor(folder: TemporaryFolder, parts: number) {
    this.#folder = folder;
    this.#parts = parts;
  }

  static async create(bytes: number): Promise<PartitionedResult> {
    const parts = Math.min(maxParts, Math.max(1, Math.ceil(bytes / partBytes)));
    const result = new PartitionedResult(await createTemporaryFolder("bulk"), parts);
    try {
      for (let part = 0; part < parts; part++) result.#writers.push(new TemporaryFile(result.#path(`${part}.ndjson`)));
      return result;
    } catch (error) {
      await result[Symbol.asyncDispose]();
      throw error;
    }
  }

  #path(name: string): string {
    return join(this.#folder.path, name);
  }

  /** Adds a result, or what of it belongs to products that are in already. */
  async add(lines: AsyncIterable<Buffer>, products: "all" | "known"): Promise<void> {
    using early = new TemporaryFile(this.#path(`early-${products}.ndjson`));
    let unflushed = 0;
    for await (const line of lines) {
      if (!this.#place(line, products)) addLine(early, line);
      unflushed += line.length;
      if (unflushed < partBytes) continue;
      unflushed = 0;
      this.#flush();
      early.flush();
    }
    early.flush();
    this.#early.clear();
    // What came before its variant did has one by now.
    for await (const line of splitLines(Bun.file(early.path).stream())) {
      if (this.#place(line, products)) continue;
      throw new Error("the bulk result is not whole: it holds metafields without their variant");
    }
    this.#flush();
  }

  #flush(): void {
    for (const writer of this.#writers) writer.flush();
  }

  /** @returns whether it is known by now which product the line belongs to */
  #place(line: Buffer, products: "all" | "known"): boolean {
    const { kind, id, parentKind, parent } = identify(line);
    if (parentKind === undefined) {
      if (products === "known") return true;
      this.ids.add(toId(id));
      this.#write(this.#partOf(id), line);
    } else if (parentKind === "Product") {
      if (products === "known" && !this.ids.has(toId(parent))) return true;
      const part = this.#partOf(parent);
      if (kind === "ProductVariant") this.#partOfVariant.set(toId(id), part);
      this.#write(part, line);
    } else {
      const variant = toId(parent);
      const part = this.#partOfVariant.get(variant);
      if (part === undefined || this.#early.has(variant)) {
        this.#early.add(variant);
        return false;
      }
      this.#write(part, line);
    }
    return true;
  }

  #partOf(id: string): number {
    return Number(id.slice(-9)) % this.#parts;
  }

  #write(part: number, line: Buffer): void {
    const writer = this.#writers[part];
    if (writer !== undefined) addLine(writer, line);
  }

  /** The products of one part after the other. */
  async *products(): AsyncGenerator<CompleteProduct[]> {
    for (const [part, writer] of this.#writers.entries()) {
      writer[Symbol.dispose]();
      // The collector underrates what a part leaves behind, most of which lies outside its heap: left alone it grows to a gigabyte.
      if (part % partsBetweenCollections === 0) Bun.gc(true);
      yield assemble(await Bun.file(writer.path).bytes());
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const writer of this.#writers) writer[Symbol.dispose]();
    await this.#folder.remove();
  }
}

const newline = Buffer.from("\n");

function addLine(file: TemporaryFile, line: Buffer): void {
  file.add(line);
  file.add(newline);
}

interface Identity {
  readonly kind: string;
  readonly id: string;
  readonly parentKind?: string;
  readonly parent: string;
}

const head = /^\{"__typename":"(\w+)","id":"gid:\/\/shopify\/\w+\/(\d+)/;
const tail = /"__parentId":"gid:\/\/shopify\/(\w+)\/(\d+)"\}$/;

/** What a line is and whose, from its two ends: most of it need not be read for that. */
function identify(line: Buffer): Identity {
  const own = line.toString("latin1", 0, 160).match(head);
  const parent = line.toString("latin1", Math.max(0, line.length - 160)).match(tail);
  if (own === null) return identifyWhole(line);
  if (parent === null)
    return own[1] === "Product" ? { kind: "Product", id: own[2] ?? "", parent: "" } : identifyWhole(line);
  return { kind: own[1] ?? "", id: own[2] ?? "", parentKind: parent[1] ?? "", parent: parent[2] ?? "" };
}

function identifyWhole(line: Buffer): Identity {
  const { __typename, id, __parentId } = JSON.parse(new TextDecoder().decode(line));
  const [, , , parentKind, parent = ""] = `${__parentId ?? ""}`.split("/");
  const kind = `${__typename}`;
  return { kind, id: `${id ?? ""}`.split("/").at(-1) ?? "", ...(parentKind && { parentKind }), parent };
}

/**
 * Downloads and partitions the results of both runs.
 * @throws Error when they do not come whole, however often they are asked for
 */
export async function partition(
  products: BulkResult,
  media: BulkResult,
  signal: AbortSignal,
): Promise<PartitionedResult> {
  for (let download = 1; ; download++) {
    const result = await PartitionedResult.create(products.bytes + media.bytes);
    try {
      await result.add(readLines(products, signal), "all");
      await result.add(readLines(media, signal), "known");
      return result;
    } catch (error) {
      await result[Symbol.asyncDispose]();
      // A full disk is as full for the next download.
      if (download === maxDownloads || signal.aborted || error instanceof ServiceError) throw error;
      await sleep(download * pauseMs, undefined, { signal });
    }
  }
}

async function* readLines({ url, objects }: BulkResult, signal: AbortSignal): AsyncGenerator<Buffer> {
  if (url === null) return;
  const stalled = new AbortController();
  let lines = 0;
  let linesBefore = -1;
  const watch = setInterval(() => {
    if (lines === linesBefore) stalled.abort(new Error("the bulk result comes no further"));
    linesBefore = lines;
  }, stallMs);
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, stalled.signal]) });
    if (!response.ok || response.body === null) {
      throw new Error(`the bulk result cannot be had: status ${response.status}`);
    }
    for await (const line of splitLines(response.body)) {
      if (line.at(-1) !== closeBrace) throw new Error("the bulk result is not whole: it ends within a line");
      lines++;
      yield line;
    }
  } finally {
    clearInterval(watch);
  }
  if (lines !== objects) throw new Error(`the bulk result is not whole: ${lines} of ${objects} lines came`);
}
