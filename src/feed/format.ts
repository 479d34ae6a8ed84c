export const encodings = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type TextEncoding = (typeof encodings)[number];

/** On a tie, the first one wins. */
export const delimiters = [",", ";", "\t", "|"] as const;
export type Delimiter = (typeof delimiters)[number];

export const compressionExtensions = { gzip: ".gz", zstd: ".zst" } as const;
export type FileCompression = keyof typeof compressionExtensions;

/** Names may lack the extension, as with `Content-Encoding`. */
export const compressionSignatures: Readonly<Record<FileCompression, readonly number[]>> = {
  gzip: [0x1f, 0x8b],
  zstd: [0x28, 0xb5, 0x2f, 0xfd],
};
