import { describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { CompressionLoad, EncodedBody, type SendableBody } from "../../src/cache/encoded-body.ts";
import type { ContentEncoding } from "../../src/cache/encoding.ts";

const decoders = { br: brotliDecompressSync, zstd: zstdDecompressSync, gzip: gunzipSync };
const encodings = ["identity", "br", "zstd", "gzip"] as const;

const sizes = { "a small body": 4000, "a blob": 40_000, "a body that takes long": 400_000 } as const;
type Size = keyof typeof sizes;

/** JSON with repetitions, as in a response. */
function textOf(size: Size): Uint8Array<ArrayBuffer> {
  let text = "";
  for (let row = 0; text.length < sizes[size]; row++) text += `{"choice":"${(row * 7919) % 1000}","status":"é"},`;
  return new TextEncoder().encode(text);
}

const load = new CompressionLoad();

const bytesOf = async (body: SendableBody) => (body instanceof Blob ? await body.bytes() : body);

async function decode(body: EncodedBody, encoding: ContentEncoding): Promise<Buffer> {
  const bytes = await bytesOf(await body.encode(encoding, load));
  return encoding === "identity" ? Buffer.from(bytes) : decoders[encoding](bytes);
}

describe.each(Object.keys(sizes) as Size[])("%s", (size) => {
  const text = textOf(size);

  test("is the same in every encoding, whichever was requested first", async () => {
    for (const first of encodings) {
      const body = new EncodedBody(text);
      for (const encoding of [first, ...encodings, ...encodings]) {
        expect(Buffer.compare(await decode(body, encoding), text)).toBe(0);
      }
    }
  });

  test("is kept only as it was requested", async () => {
    for (const encoding of encodings) {
      const body = new EncodedBody(text);
      expect(body.size).toBe(text.length);
      const sent = await bytesOf(await body.encode(encoding, load));
      expect(body.size).toBe(sent.length);
    }
    const body = new EncodedBody(text);
    const sent = await Promise.all(encodings.map(async (encoding) => bytesOf(await body.encode(encoding, load))));
    expect(body.size).toBe(sent.reduce((sum, { length }) => sum + length, 0));
  });

  test("is encoded once for concurrent and later requests, and says so", async () => {
    for (const encoding of encodings) {
      const body = new EncodedBody(text);
      let resized = 0;
      body.sizeListener = { resized: () => void resized++ };
      const [one, other] = await Promise.all([body.encode(encoding, load), body.encode(encoding, load)]);
      const later = await body.encode(encoding, load);
      for (const same of [other, later]) expect(Buffer.compare(await bytesOf(one), await bytesOf(same))).toBe(0);
      expect(resized).toBe(1);
    }
  });
});

test("small bodies are encoded without a promise", () => {
  for (const encoding of encodings) {
    expect(new EncodedBody(textOf("a small body")).encode(encoding, load)).toBeInstanceOf(Uint8Array);
  }
});

test("large bodies are sent uncompressed while many others are being compressed", async () => {
  const text = new Uint8Array(8 * 2 ** 20);
  const bodies = Array.from({ length: 6 }, () => new EncodedBody(text));
  const request = (body: EncodedBody) => {
    const encoding = body.available("zstd", load);
    return { encoding, sent: body.encode(encoding, load) };
  };
  const first = bodies.map(request);
  const chosen = ["zstd", "zstd", "zstd", "zstd", "identity", "identity"] as const;
  expect(first.map(({ encoding }) => encoding)).toEqual([...chosen]);
  // Joins the one in progress.
  expect(bodies[0]?.available("zstd", load)).toBe("zstd");
  expect(bodies[0]?.available("gzip", load)).toBe("identity");
  const sent = await Promise.all(first.map(async (each) => bytesOf(await each.sent)));
  expect(sent.map(({ length }) => length === text.length)).toEqual(chosen.map((encoding) => encoding === "identity"));
  expect(bodies.map((body) => body.available("gzip", load))).toEqual(Array(6).fill("gzip"));
  // One that is larger than all that may be compressed at once gets its turn.
  expect(new EncodedBody(new Uint8Array(40 * 2 ** 20)).available("zstd", load)).toBe("zstd");
});
