/** Role of an operator: `view` only reads, `operate` also acts. */
export const roles = ["view", "operate"] as const;
export type Role = (typeof roles)[number];

/** A token for the admin listener. The token itself is not stored. */
export interface OperatorToken {
  /** Name of the operator. */
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the token, as 64 lowercase hexadecimal digits. */
  readonly sha256: string;
}

/** Lets scanners for secrets recognize a token that was committed or posted by mistake. */
export const tokenPrefix = "pds_";

/** A token as `pds token create` makes them, of 256 random bits. */
export const generatedToken = /^pds_[\w-]{43}$/;

/** The sender of a request to the admin listener, with their rights. */
export interface Viewer {
  /** Name of the operator; undefined if the listener needs no token, except for the demo. */
  readonly operator: string | undefined;
  readonly role: Role;
  /** Token that the forms of this session must send; undefined for one who sent a token. */
  readonly formToken: string | undefined;
}

/** The operator of the setting `ADMIN_TOKEN`. */
export const adminOperator = "ADMIN_TOKEN";

/** Who acts on the sample brand's data without a token. */
export const demoOperator = "demo";

export const sha256 = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");
