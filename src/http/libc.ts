import { dlopen, type FFIFunction } from "bun:ffi";

/** The C library of Debian and others, and of Alpine. */
const libraries = ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];

/** Functions of the C library on Linux; undefined on other systems. */
export function openLibc<Signatures extends Record<string, FFIFunction>>(signatures: Signatures) {
  if (process.platform !== "linux") return undefined;
  for (const library of libraries) {
    try {
      return dlopen(library, signatures);
    } catch {
      // The other one, then.
    }
  }
  return undefined;
}
