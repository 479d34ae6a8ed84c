import { setImmediate } from "node:timers/promises";
import { checkFile, readText, throwChanged } from "../feed/file.ts";
import { type JsonDocument, JsonSplitter } from "../feed/json.ts";
import { parseJson } from "../json.ts";
import type { RejectedRow } from "../model/import-report.ts";
import type { Product } from "../model/product.ts";
import { parseProduct } from "../model/product-document.ts";

/** A product of a file, or the reasons why it was rejected. */
export type ProductDocument =
  | { readonly product: Product; readonly file: string; readonly line: number }
  | { readonly rejected: RejectedRow[] };

/**
 * Reads products from files of JSON, a JSON array, or NDJSON. Products may be wrapped, as exports
 * of a platform do: `{"product": …}` or `{"products": […]}`.
 * @throws ServiceError `invalid_input` when a file is missing, too large, or not text, `conflict`
 * when one changed while it was read.
 */
export async function* readProducts(paths: readonly string[], maxMegabytes = 0): AsyncGenerator<ProductDocument> {
  const versions = await Promise.all(paths.map(checkFile));
  for (const path of paths) yield* readFile(path, maxMegabytes);
  for (const [index, path] of paths.entries()) if ((await checkFile(path)) !== versions[index]) throwChanged(path);
}

async function* readFile(file: string, maxMegabytes: number): AsyncGenerator<ProductDocument> {
  const splitter = new JsonSplitter(0, file);
  for await (const chunk of readText(file, "utf-8", maxMegabytes)) {
    for (const document of splitter.push(chunk)) yield* readDocument(document, file);
    // The runtime reads a whole file in one turn of its event loop; the heartbeat needs turns, too.
    await setImmediate();
  }
  const { document, unfinished } = splitter.end();
  if (document !== undefined) yield* readDocument(document, file);
  if (unfinished !== undefined) yield { rejected: [{ file, ...unfinished }] };
  if (splitter.isEmpty) yield { rejected: [{ file, line: 1, reason: "the file is empty; write an empty list as []" }] };
}

function* readDocument({ text, line }: Pick<JsonDocument, "text" | "line">, file: string): Generator<ProductDocument> {
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (error) {
    yield {
      rejected: [{ file, line, reason: `not JSON: ${(error as Error).message.replace("JSON Parse error: ", "")}` }],
    };
    return;
  }
  if (holds(document, "products") && Array.isArray(document.products)) {
    const splitter = new JsonSplitter(2);
    for (const inner of splitter.push(text))
      yield* readDocument({ text: inner.text, line: line + inner.line - 1 }, file);
    return;
  }
  const parsed = parseProduct(holds(document, "product") ? document.product : document);
  if (parsed.product) yield { product: parsed.product, file, line };
  else yield { rejected: parsed.problems.map((problem) => ({ file, line, ...problem })) };
}

function holds<Key extends string>(value: unknown, key: Key): value is Record<Key, unknown> {
  return typeof value === "object" && value !== null && key in value;
}
