import { type JsonPiece, JsonSplitter } from "../feed/json.ts";
import { checkFile, readText } from "../feed/source.ts";
import { parseJson } from "../json.ts";
import type { RejectedRow } from "../model/import-report.ts";
import { type Product, parseProduct } from "../model/product.ts";

/** A document of a feed: a product, or what is wrong with it. */
export type ReadProduct =
  | { readonly product: Product; readonly file: string; readonly line: number }
  | { readonly rejected: RejectedRow[] };

/**
 * Reads products from JSON, a JSON array or NDJSON; each may be wrapped as the platform's exports wrap them,
 * `{"product": …}` or `{"products": […]}`.
 * @throws ServiceError `invalid_input` when a file is missing or not text.
 */
export async function* readProducts(paths: readonly string[]): AsyncGenerator<ReadProduct> {
  for (const path of paths) await checkFile(path);
  for (const path of paths) yield* readFile(path);
}

async function* readFile(file: string): AsyncGenerator<ReadProduct> {
  const splitter = new JsonSplitter(0, file);
  for await (const chunk of readText(file, "utf-8")) {
    for (const piece of splitter.push(chunk)) yield* readDocument(piece, file);
  }
  const { piece, unfinished } = splitter.end();
  if (piece !== undefined) yield* readDocument(piece, file);
  if (unfinished !== undefined) yield { rejected: [{ file, ...unfinished }] };
  if (splitter.isEmpty)
    yield { rejected: [{ file, line: 1, reason: "the file is empty; an empty list is written as []" }] };
}

function* readDocument({ text, line }: JsonPiece, file: string): Generator<ReadProduct> {
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
    for (const piece of splitter.push(text))
      yield* readDocument({ text: piece.text, line: line + piece.line - 1 }, file);
    return;
  }
  const parsed = parseProduct(holds(document, "product") ? document.product : document);
  if (parsed.product) yield { product: parsed.product, file, line };
  else yield { rejected: parsed.problems.map((problem) => ({ file, line, ...problem })) };
}

function holds<Key extends string>(value: unknown, key: Key): value is Record<Key, unknown> {
  return typeof value === "object" && value !== null && key in value;
}
