import { brotliCompress, constants, gzip, zstdCompress } from "node:zlib";

/** A content coding that is answered in, the preferred one first. */
const codings = ["br", "zstd", "gzip"] as const;
export type Coding = (typeof codings)[number] | "identity";

/** Smaller bodies fit into a packet as they are. */
export const minCompressibleBytes = 1024;

/** What clients send is much the same: a few dozen different values in practice. */
const chosen = new Map<string, Coding>();
const mostChosen = 500;

/** The coding that an `Accept-Encoding` prefers, by its quality values; without one the body goes as it is. */
export function chooseEncoding(accepted: string | null): Coding {
  if (accepted === null || accepted === "") return "identity";
  const known = chosen.get(accepted);
  if (known !== undefined) return known;
  const coding = parseAccepted(accepted);
  if (chosen.size < mostChosen && accepted.length < 200) chosen.set(accepted, coding);
  return coding;
}

function parseAccepted(accepted: string): Coding {
  const qualities = new Map<string, number>();
  for (const part of accepted.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith("q="))?.slice(2);
    const quality = weight === undefined ? 1 : Number(weight);
    qualities.set(name === "x-gzip" ? "gzip" : name, quality >= 0 && quality <= 1 ? quality : 0);
  }
  const qualityOf = (name: string) => qualities.get(name) ?? qualities.get("*") ?? 0;
  const best = codings.reduce((a, b) => (qualityOf(b) > qualityOf(a) ? b : a));
  // Unless it is named, the body as it is is welcome, but no more than what is asked for.
  const asItIs = qualities.get("identity") ?? 0;
  return qualityOf(best) > 0 && qualityOf(best) >= asItIs ? best : "identity";
}

/** Compresses on another thread. */
export function compress(body: Uint8Array, coding: Exclude<Coding, "identity">): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, result: Uint8Array) =>
      error === null ? resolve(new Uint8Array(result)) : reject(error);
    if (coding === "gzip") gzip(body, { level: 6 }, done);
    else if (coding === "zstd") zstdCompress(body, { params: { [constants.ZSTD_c_compressionLevel]: 9 } }, done);
    else {
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: 5,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      };
      brotliCompress(body, { params }, done);
    }
  });
}
