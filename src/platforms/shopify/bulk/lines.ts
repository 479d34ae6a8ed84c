const newline = 10;
const maxLineBytes = 64 * 2 ** 20;

/**
 * Splits a stream into its nonempty lines. Each line is valid only until the next one is requested.
 * @throws when a line does not end within the memory that there is for it
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const bytes of chunks) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = chunk.subarray(start, end);
      if (restBytes + line.length > 0) yield restBytes === 0 ? line : Buffer.concat([...rest, line]);
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    // A copy, because the stream may use its memory again.
    rest.push(Buffer.from(chunk.subarray(start)));
    restBytes += chunk.length - start;
    if (restBytes > maxLineBytes) throw new Error(`the bulk result has a line of over ${maxLineBytes} bytes`);
  }
  if (restBytes > 0) yield Buffer.concat(rest);
}
