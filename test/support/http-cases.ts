import { expect } from "bun:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";

/** A response as it came, without decompression. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

/** Reads a response that `fetch` must not decompress. */
export async function request(
  url: string,
  { method = "GET", headers = {} }: { method?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<RawResponse> {
  const response = await fetch(url, {
    method,
    headers: { "Accept-Encoding": "identity", ...headers },
    decompress: false,
  });
  return { status: response.status, headers: response.headers, bytes: await response.bytes() };
}

export function decode({ headers, bytes }: RawResponse): string {
  const encoding = headers.get("content-encoding");
  if (encoding === null) return new TextDecoder().decode(bytes);
  const decompress = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }[encoding];
  if (decompress === undefined) throw new Error(`unknown encoding ${encoding}`);
  return decompress(bytes).toString();
}

interface HttpCase {
  readonly name: string;
  readonly section: string;
  /** Whether a shared cache in front may respond otherwise, as its standard allows. */
  readonly isDirect?: boolean;
  readonly send: (url: string) => Promise<void>;
}

/** The status, whether the body is the whole one, and the entity tag. */
async function expectCurrent(url: string, headers: Record<string, string>, status: 200 | 304): Promise<void> {
  const whole = await request(url);
  const response = await request(url, { headers });
  expect([response.status, response.headers.get("etag")]).toEqual([status, whole.headers.get("etag")]);
  expect(decode(response)).toBe(status === 304 ? "" : decode(whole));
}

const etagOf = async (url: string) => (await request(url)).headers.get("etag") ?? "";

const times = ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT", "yesterday"];

/**
 * How a cacheable response behaves towards conditions, encodings, ranges, and `HEAD` (RFC 9110 and
 * RFC 9111), directly and through shared caches.
 */
export const httpCases: readonly HttpCase[] = [
  {
    name: "a matching If-None-Match gets 304 with the fields that a cache updates, and no body",
    section: "9110, 13.1.2 and 15.4.5",
    send: async (url) => {
      const whole = await request(url);
      const response = await request(url, { headers: { "If-None-Match": await etagOf(url) } });
      expect([response.status, response.bytes.length]).toEqual([304, 0]);
      for (const name of ["etag", "cache-control", "vary"]) {
        expect([name, response.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
      }
      expect(response.headers.has("content-encoding")).toBeFalse();
    },
  },
  {
    name: "If-None-Match may be a list or *",
    section: "9110, 13.1.2",
    isDirect: true,
    send: async (url) => {
      const etag = await etagOf(url);
      for (const field of [`"other", ${etag}`, `${etag} , "other"`, "*"]) {
        await expectCurrent(url, { "If-None-Match": field }, 304);
      }
    },
  },
  {
    name: "If-None-Match compares weakly",
    section: "9110, 8.8.3.2",
    send: async (url) => {
      const etag = await etagOf(url);
      await expectCurrent(url, { "If-None-Match": etag.replace("W/", "") }, 304);
      for (const field of ['"other"', 'W/"other"', `${etag.slice(0, -1)}x"`])
        await expectCurrent(url, { "If-None-Match": field }, 200);
    },
  },
  {
    name: "If-Match with any tag fails, because all are weak, and with * it does not",
    section: "9110, 13.1.1",
    isDirect: true,
    send: async (url) => {
      for (const field of ['"other"', await etagOf(url), `"a", ${await etagOf(url)}`]) {
        const { status, headers } = await request(url, { headers: { "If-Match": field } });
        expect([field, status, headers.get("cache-control")]).toEqual([field, 412, "no-store"]);
      }
      await expectCurrent(url, { "If-Match": "*" }, 200);
    },
  },
  {
    name: "If-Modified-Since is ignored: there is no Last-Modified",
    section: "9110, 13.1.3",
    send: async (url) => {
      expect((await request(url)).headers.has("last-modified")).toBeFalse();
      for (const time of times) await expectCurrent(url, { "If-Modified-Since": time }, 200);
    },
  },
  {
    name: "If-Unmodified-Since is ignored: there is no Last-Modified",
    section: "9110, 13.1.4",
    isDirect: true,
    send: async (url) => {
      for (const time of times) await expectCurrent(url, { "If-Unmodified-Since": time }, 200);
    },
  },
  {
    name: "HEAD has the fields of GET and no body",
    section: "9110, 9.3.2",
    send: async (url) => {
      const [get, head] = [await request(url), await request(url, { method: "HEAD" })];
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      for (const name of ["etag", "content-type", "cache-control", "vary"]) {
        expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
      }
      const conditional = await request(url, { method: "HEAD", headers: { "If-None-Match": await etagOf(url) } });
      expect(conditional.status).toBe(304);
    },
  },
  {
    name: "every encoding has the same body and tag, and Vary names the request's field",
    section: "9110, 8.4 and 12.5.5",
    send: async (url) => {
      const whole = await request(url);
      for (const encoding of [
        "gzip",
        "br",
        "zstd",
        "gzip, br;q=0.5",
        "identity",
        "br;q=0, gzip;q=0, zstd;q=0",
        "*;q=0, identity",
      ]) {
        const response = await request(url, { headers: { "Accept-Encoding": encoding } });
        expect([encoding, response.status, decode(response)]).toEqual([encoding, 200, decode(whole)]);
        expect([encoding, response.headers.get("etag")]).toEqual([encoding, whole.headers.get("etag")]);
        expect(response.headers.get("vary")?.toLowerCase()).toContain("accept-encoding");
        const conditional = await request(url, {
          headers: { "Accept-Encoding": encoding, "If-None-Match": whole.headers.get("etag") ?? "" },
        });
        expect([encoding, conditional.status]).toEqual([encoding, 304]);
      }
    },
  },
  {
    name: "an encoding that is not accepted is not sent",
    section: "9110, 12.5.3",
    send: async (url) => {
      for (const [field, encodings] of [
        ["gzip", ["gzip", null]],
        ["gzip;q=0", [null]],
        ["unknown", [null]],
        ["", [null]],
      ] as const) {
        const { headers } = await request(url, { headers: { "Accept-Encoding": field } });
        expect(encodings).toContain(headers.get("content-encoding") as never);
      }
    },
  },
  {
    name: "a range is ignored",
    section: "9110, 14.2",
    isDirect: true,
    send: async (url) => {
      expect((await request(url)).headers.get("accept-ranges")).not.toBe("bytes");
      for (const range of ["bytes=0-9", "bytes=-1", "bytes=0-0,5-9", "lines=1-2"]) {
        await expectCurrent(url, { Range: range }, 200);
        await expectCurrent(url, { Range: range, "If-Range": await etagOf(url) }, 200);
      }
    },
  },
  {
    name: "Cache-Control of a request does not change the response",
    section: "9111, 5.2.1",
    send: async (url) => {
      for (const field of ["no-cache", "max-age=0", "no-store", "max-stale=100", "min-fresh=100000"]) {
        await expectCurrent(url, { "Cache-Control": field }, 200);
      }
    },
  },
];
