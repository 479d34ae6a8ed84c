import { z } from "zod";
import { sha256 } from "../base/hash.ts";

/** `view` only reads; `operate` also acts. */
export const roles = ["view", "operate"] as const;
export type Role = (typeof roles)[number];

/** The token itself is not stored. */
export interface OperatorToken {
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the token, as 64 lowercase hexadecimal digits. */
  readonly sha256: string;
}

/** Lets secret scanners recognize a leaked token. */
export const tokenPrefix = "pds_";

/** A token that `pds token create` generated, with 256 random bits. */
export const generatedToken = /^pds_[\w-]{43}$/;

/** The operator of the setting `ADMIN_TOKEN`. */
export const adminOperator = "ADMIN_TOKEN";

/** Operator without a token, for the sample brand's data. */
export const demoOperator = "demo";

/** One table of `[admin.tokens]`. */
export const tokenSchema = z.strictObject({
  sha256: z
    .string()
    .regex(/^[\da-f]{64}$/, "expected the SHA-256 of a token, 64 hexadecimal digits, as pds token create prints it")
    .refine(
      (digest) => digest !== sha256(""),
      "this is the SHA-256 of an empty text; create a token with pds token create",
    ),
  role: z.enum(roles),
});

/** Log lines, audit records, and pages show the name. */
const validName = /^[\w.@+-]{1,50}$/;

/** @throws Error that says which names are valid */
export function operatorName(text: string): string {
  if (validName.test(text) && text !== adminOperator) return text;
  throw new Error(
    `expected a name of 1 to 50 ASCII letters, digits, and characters of _.@+-, but not ${adminOperator}`,
  );
}

interface TokenSettings {
  readonly adminToken: string;
  readonly tokens: readonly OperatorToken[];
}

/** The tokens that the admin listener accepts; none if it needs none. */
export function listTokens({ adminToken, tokens }: TokenSettings): readonly OperatorToken[] {
  if (adminToken === "") return tokens;
  return [{ name: adminOperator, role: "operate", sha256: sha256(adminToken) }, ...tokens];
}
