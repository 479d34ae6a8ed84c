/** FNV-1a with two offsets. Pages without TLS lack `crypto.subtle`, and nothing here is secret. */
export function checksum(text: string): string {
  return [0x811c9dc5, 0x01000193]
    .map((offset) => {
      let hash = offset;
      for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
      return (hash >>> 0).toString(16).padStart(8, "0");
    })
    .join("");
}
