const newline = 10;

/** The lines of a text as it arrives, without empty ones; each is valid until the next is asked for. */
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
