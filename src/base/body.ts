export class LargeBodyError extends Error {
  constructor(maxMegabytes: number) {
    super(`the response is larger than ${maxMegabytes} MB`);
  }
}

export async function readStart({ body }: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/**
 * @throws LargeBodyError
 * @throws SyntaxError when it is not JSON
 */
export async function readJson(response: Response, maxMegabytes: number): Promise<unknown> {
  const maxBytes = maxMegabytes * 2 ** 20;
  const bytes = await readStart(response, maxBytes + 1);
  if (bytes.length > maxBytes) throw new LargeBodyError(maxMegabytes);
  return JSON.parse(new TextDecoder().decode(bytes));
}
