import { setImmediate } from "node:timers/promises";
import { ServiceError } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import type { Product } from "../contract/product.ts";
import { checkFile, readText, throwChanged } from "../feed/file.ts";
import { findRepeatedField, type JsonDocument, JsonSplitter } from "../feed/json.ts";
import { excerpt, type RejectedRow } from "../jobs/import-report.ts";
import { findForeignForm, findForeignText } from "./foreign-forms.ts";
import { nameOf, parseProduct } from "./product-document.ts";

export type ProductDocument =
  | { readonly product: Product; readonly file: string; readonly line: number }
  | { readonly rejected: RejectedRow[] }
  | { readonly ignored: string[] };

/**
 * Reads products from files of JSON, a JSON array, or NDJSON. Products may be wrapped, as exports
 * of a platform do: `{"product": …}` or `{"products": […]}`, beside other names.
 * @throws ServiceError `invalid_input` when a file is missing, too large, not text, or of another
 * form than the exports of a platform, `conflict` when one changed while it was read.
 */
export async function* readProducts(paths: readonly string[], maxMegabytes = 0): AsyncGenerator<ProductDocument> {
  const versions = await Promise.all(paths.map(checkFile));
  for (const path of paths) yield* readFile(path, maxMegabytes);
  for (const [index, path] of paths.entries()) if ((await checkFile(path)) !== versions[index]) throwChanged(path);
}

async function* readFile(file: string, maxMegabytes: number): AsyncGenerator<ProductDocument> {
  const splitter = new JsonSplitter(0, file);
  for await (const chunk of readText(file, "utf-8", maxMegabytes)) {
    if (splitter.isEmpty) refuse(file, 1, findForeignText(chunk));
    for (const document of splitter.push(chunk)) yield* readDocument(document, file);
    // The runtime reads a file without a pause, but the heartbeat needs turns of the event loop.
    await setImmediate();
  }
  const { document, unfinished } = splitter.end();
  if (document !== undefined) yield* readDocument(document, file);
  if (unfinished !== undefined) {
    const reason = `${unfinished.reason}; it may be cut off: copy it or export it again`;
    yield { rejected: [{ file, ...unfinished, reason }] };
  }
  if (splitter.isEmpty)
    yield { rejected: [{ file, line: 1, reason: "the file is empty; export it again, or write [] for no products" }] };
}

function* readDocument({ text, line, keys, fields: count }: JsonDocument, file: string): Generator<ProductDocument> {
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (error) {
    yield {
      rejected: [{ file, line, reason: `not JSON: ${(error as Error).message.replace("JSON Parse error: ", "")}` }],
    };
    return;
  }
  const fields: Readonly<Record<string, unknown>> = Object(document);
  const [hasList, hasOne] = [Array.isArray(fields.products), "product" in fields];
  const unwrapped = hasOne ? fields.product : document;
  // The parser keeps only the last of several fields with the same name. Each product of a list is checked alone.
  if (hasList && !hasOne ? Object.keys(fields).length !== count : countFields(document) !== keys) {
    const reason = `has the field ${excerpt(findRepeatedField(text))} more than once`;
    yield { rejected: [{ file, line, reason, text: nameOf(unwrapped) || excerpt(text) }] };
    return;
  }
  if (hasOne || !hasList) refuse(file, line, findForeignForm(unwrapped));
  if (hasList || hasOne) {
    yield { ignored: Object.keys(fields).filter((name) => name !== "product" && name !== "products") };
  }
  if (hasList) yield* readList({ text, line }, file);
  if (hasList && !hasOne) return;
  const parsed = parseProduct(unwrapped);
  if (parsed.product) yield { product: parsed.product, file, line };
  else yield { rejected: parsed.problems.map((problem) => ({ file, line, ...problem })) };
}

/** Of all objects in a JSON value. Not recursive: a value may be nested deeply. */
function countFields(value: unknown): number {
  let fields = 0;
  const pending = [value];
  for (const each of pending) {
    if (typeof each !== "object" || each === null) continue;
    const members = Object.values(each);
    if (!Array.isArray(each)) fields += members.length;
    for (const member of members) if (typeof member === "object") pending.push(member);
  }
  return fields;
}

function refuse(file: string, line: number, reason: string | undefined): void {
  if (reason !== undefined) throw new ServiceError("invalid_input", `${file}:${line}: ${reason}`);
}

/** Reads products from a wrapper, and finds their line numbers. */
function* readList({ text, line }: Pick<JsonDocument, "text" | "line">, file: string): Generator<ProductDocument> {
  let name: unknown;
  for (const part of new JsonSplitter(1).push(text)) {
    if (name === undefined) {
      name = parseJson(part.text);
      continue;
    }
    for (const inner of name === "products" ? new JsonSplitter().push(part.text) : []) {
      yield* readDocument({ ...inner, line: line + part.line + inner.line - 2 }, file);
    }
    name = undefined;
  }
}
