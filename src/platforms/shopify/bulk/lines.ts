const newline = 10;

/**
 * Splits a stream into its nonempty lines. Each line is valid only until the next one is requested.
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const bytes of chunks) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = chunk.subarray(start, end);
      if (rest.length > 0 || line.length > 0) yield rest.length === 0 ? line : Buffer.concat([rest, line]);
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    if (start < chunk.length) rest = Buffer.concat([rest, chunk.subarray(start)]);
  }
  if (rest.length > 0) yield rest;
}
