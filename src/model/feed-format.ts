/** The text encodings a feed's file may have. */
export const encodings = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type Encoding = (typeof encodings)[number];

/** The field delimiters of CSV. On a tie the first one wins. */
export const delimiters = [",", ";", "\t", "|"] as const;
export type Delimiter = (typeof delimiters)[number];

/** The file name extension of each supported compression. */
export const compressionExtensions = { gzip: ".gz", zstd: ".zst" } as const;
export type Compression = keyof typeof compressionExtensions;
