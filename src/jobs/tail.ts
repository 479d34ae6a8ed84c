const mostLines = 20;
const mostBytes = 8 * 1024;

/** The last lines of what a process says. */
export class Tail {
  #bytes = Buffer.alloc(0);

  add(chunk: Uint8Array): void {
    const all = Buffer.concat([this.#bytes, chunk]);
    this.#bytes = Buffer.from(all.subarray(-mostBytes));
  }

  /** Null when nothing was said. */
  text(): string | null {
    // No store takes a text with U+0000 in it.
    const lines = this.#bytes.toString().replaceAll("\0", "").trimEnd().split("\n");
    const text = lines.slice(-mostLines).join("\n");
    return text === "" ? null : text;
  }
}
