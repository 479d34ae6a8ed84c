/** The text encodings a feed's file may have. */
export const encodings = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type TextEncoding = (typeof encodings)[number];

/** The field delimiters of CSV. On a tie the first one wins. */
export const delimiters = [",", ";", "\t", "|"] as const;
export type Delimiter = (typeof delimiters)[number];

/** The file name extension of each supported compression. */
export const compressionExtensions = { gzip: ".gz", zstd: ".zst" } as const;
export type FileCompression = keyof typeof compressionExtensions;

/** The first bytes of a compressed file: its name may have no extension, as with `Content-Encoding`. */
export const compressionSignatures: Readonly<Record<FileCompression, readonly number[]>> = {
  gzip: [0x1f, 0x8b],
  zstd: [0x28, 0xb5, 0x2f, 0xfd],
};
