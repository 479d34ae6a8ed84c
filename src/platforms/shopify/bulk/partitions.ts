import { join } from "node:path";
import { createTemporaryFolder, TemporaryFile, type TemporaryFolder } from "../../../base/temporary-folder.ts";
import { type Id, toId } from "../../../contract/product-values.ts";
import type { CompleteProduct } from "../complete-product.ts";
import { splitLines } from "./lines.ts";
import { buildProducts } from "./products.ts";

/** Target size: one partition at a time is in memory. */
const partitionBytes = 1 * 1024 * 1024;
const maxPartitions = 512;
const partitionsPerGc = 16;

/**
 * Bulk results on disk, partitioned by product, in any order of lines. Memory holds one partition,
 * and about 50 bytes per variant.
 */
export class BulkPartitions {
  readonly ids = new Set<Id>();
  readonly #folder: TemporaryFolder;
  readonly #count: number;
  readonly #writers: TemporaryFile[] = [];
  /** The partition of each variant's product: metafields of a variant name only the variant. */
  readonly #partitionOfVariant = new Map<Id, number>();
  /** Once a metafield is deferred, the variant's others are, too, to keep their order. */
  readonly #deferred = new Set<Id>();

  private constructor(folder: TemporaryFolder, count: number) {
    this.#folder = folder;
    this.#count = count;
  }

  /** @param bytes expected size of all results, which determines the number of partitions */
  static async create(bytes: number): Promise<BulkPartitions> {
    const count = Math.min(maxPartitions, Math.max(1, Math.ceil(bytes / partitionBytes)));
    const partitions = new BulkPartitions(await createTemporaryFolder("bulk"), count);
    try {
      for (let index = 0; index < count; index++) {
        partitions.#writers.push(new TemporaryFile(partitions.#path(`${index}.ndjson`)));
      }
      return partitions;
    } catch (error) {
      await partitions[Symbol.asyncDispose]();
      throw error;
    }
  }

  #path(name: string): string {
    return join(this.#folder.path, name);
  }

  /** Adds the lines of a result, or only those of known products. */
  async add(lines: AsyncIterable<Buffer>, products: "all" | "known"): Promise<void> {
    using deferred = new TemporaryFile(this.#path(`deferred-${products}.ndjson`));
    let unflushed = 0;
    for await (const line of lines) {
      if (!this.#store(line, products)) addLine(deferred, line);
      unflushed += line.length;
      if (unflushed < partitionBytes) continue;
      unflushed = 0;
      this.#flush();
      deferred.flush();
    }
    deferred.flush();
    this.#deferred.clear();
    // By now every variant is known.
    for await (const line of splitLines(Bun.file(deferred.path).stream())) {
      if (this.#store(line, products)) continue;
      throw new Error("the bulk result is incomplete: it has metafields without their variant");
    }
    this.#flush();
  }

  #flush(): void {
    for (const writer of this.#writers) writer.flush();
  }

  /** @returns false when the product of the line is not known yet */
  #store(line: Buffer, products: "all" | "known"): boolean {
    const { kind, id, parentKind, parent } = identify(line);
    if (parentKind === undefined) {
      if (!/^\d+$/.test(id)) throw new Error("the bulk result is damaged: a product has no id");
      if (products === "known") return true;
      this.ids.add(toId(id));
      this.#write(this.#partitionOf(id), line);
    } else if (parentKind === "Product") {
      if (products === "known" && !this.ids.has(toId(parent))) return true;
      const partition = this.#partitionOf(parent);
      if (kind === "ProductVariant") this.#partitionOfVariant.set(toId(id), partition);
      this.#write(partition, line);
    } else {
      const variant = toId(parent);
      const partition = this.#partitionOfVariant.get(variant);
      if (partition === undefined || this.#deferred.has(variant)) {
        this.#deferred.add(variant);
        return false;
      }
      this.#write(partition, line);
    }
    return true;
  }

  #partitionOf(id: string): number {
    return Number(id.slice(-9)) % this.#count;
  }

  #write(partition: number, line: Buffer): void {
    const writer = this.#writers[partition];
    if (writer !== undefined) addLine(writer, line);
  }

  async *readProducts(): AsyncGenerator<CompleteProduct[]> {
    for (const [index, writer] of this.#writers.entries()) {
      writer[Symbol.dispose]();
      // Most of a partition's garbage is outside the JavaScript heap, so the collector runs too
      // late: memory would grow to a gigabyte.
      if (index % partitionsPerGc === 0) Bun.gc(true);
      yield buildProducts(await Bun.file(writer.path).bytes());
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

/** Identifies a line and its parent from the two ends of the line, without parsing all of it. */
function identify(line: Buffer): Identity {
  const own = line.toString("latin1", 0, 160).match(head);
  const parent = line.toString("latin1", Math.max(0, line.length - 160)).match(tail);
  if (own === null) return parseIdentity(line);
  if (parent === null)
    return own[1] === "Product" ? { kind: "Product", id: own[2] ?? "", parent: "" } : parseIdentity(line);
  return { kind: own[1] ?? "", id: own[2] ?? "", parentKind: parent[1] ?? "", parent: parent[2] ?? "" };
}

function parseIdentity(line: Buffer): Identity {
  const { __typename, id, __parentId } = JSON.parse(new TextDecoder().decode(line));
  const [, , , parentKind, parent = ""] = `${__parentId ?? ""}`.split("/");
  const kind = `${__typename}`;
  return { kind, id: `${id ?? ""}`.split("/").at(-1) ?? "", ...(parentKind && { parentKind }), parent };
}
