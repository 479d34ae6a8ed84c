import { stat } from "node:fs/promises";
import { ServiceError } from "../errors.ts";

/** @throws ServiceError `invalid_input` when there is no such file. */
export async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new ServiceError("invalid_input", `${path}: ${cause.code === "ENOENT" ? "no such file" : cause.message}`);
  });
  if (!found.isFile()) throw new ServiceError("invalid_input", `${path}: not a file`);
}

/**
 * The file's text in pieces, without its byte-order mark.
 * @throws ServiceError `invalid_input` where it is not UTF-8.
 */
export async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let read = 0;
  try {
    for await (const chunk of Bun.file(path).stream()) {
      yield decoder.decode(chunk, { stream: true });
      read += chunk.length;
    }
    yield decoder.decode();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ServiceError("invalid_input", `${path}: not UTF-8 text, somewhere behind byte ${read}`, { cause });
  }
}
