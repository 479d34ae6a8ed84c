const maxLines = 20;
const maxBytes = 8 * 1024;

export class LogTail {
  #bytes = Buffer.alloc(0);
  #isCut = false;

  add(chunk: Uint8Array): void {
    const all = Buffer.concat([this.#bytes, chunk]);
    this.#isCut ||= all.length > maxBytes;
    this.#bytes = Buffer.from(all.subarray(-maxBytes));
  }

  failure(): string | undefined {
    return this.text()?.match(/(?:^|\n)pds: ([^\n]*)$/)?.[1];
  }

  /** @param isWhole false while the process may be in the middle of a line */
  text(isWhole = true): string | null {
    // Not every store accepts U+0000 in text.
    const all = this.#bytes.toString().replaceAll("\0", "");
    const lines = (isWhole ? all : all.slice(0, all.lastIndexOf("\n") + 1)).trimEnd().split("\n");
    // Credentials might not be recognized in a partial line.
    if (this.#isCut && lines.length > 1) lines.shift();
    const text = lines.slice(-maxLines).join("\n");
    return text === "" ? null : text;
  }
}
