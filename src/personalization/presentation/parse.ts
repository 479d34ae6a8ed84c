import { ServiceError } from "../../base/errors.ts";
import { TextDecoding } from "../../feed/decode.ts";
import { readBytes } from "../../feed/file.ts";
import { maxLocales, sortEntries } from "./entries.ts";
import { listLocales } from "./entry.ts";
import { type ParsedPresentation, parsePresentationToml } from "./parse-toml.ts";

/** Every serving process keeps it in memory. Parsing 4 MB takes the job 740 MB. */
const maxBytes = 4 * 2 ** 20;

/**
 * @param name the name for messages
 * @param onRead receives the bytes as stored
 * @throws ServiceError `invalid_input` if the file as a whole cannot be used
 */
export async function readPresentation(
  path: string,
  name: string,
  onRead?: (bytes: Uint8Array) => void,
): Promise<ParsedPresentation> {
  const decoding = new TextDecoding(name);
  let text = "";
  let bytes = 0;
  for await (const chunk of readBytes(path, { name, ...(onRead && { onRead }) })) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ServiceError("invalid_input", `${name}: expected a presentation of at most 4 MB`);
    text += decoding.push(chunk);
  }
  text += decoding.end();
  const { entries, rejected } = parsePresentationToml(text, name);
  const locales = listLocales(entries);
  if (locales.length > maxLocales) {
    throw new ServiceError(
      "invalid_input",
      `${name}: has ${locales.length} locales; at most ${maxLocales} are possible`,
    );
  }
  return { entries: sortEntries(entries), rejected };
}
