/** The entity tag, without quotes, of a body that is not stored with one. */
export const hashTag = (body: string | Uint8Array | BigUint64Array) => Bun.hash.xxHash3(body).toString(36);

export const sha256 = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");
