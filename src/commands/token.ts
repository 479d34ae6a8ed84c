import { randomBytes } from "node:crypto";
import { ServiceError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { operatorName, roles, tokenPrefix } from "../operators/tokens.ts";
import { parseGiven, type Values } from "./common.ts";
import { print, printJson } from "./output.ts";

/** Needs neither settings nor a store. */
export function createToken(text: string, values: Values): boolean {
  const name = parseGiven("token create: NAME", text, operatorName);
  const role = roles.find((each) => each === values.role);
  if (role === undefined) {
    throw new ServiceError("bad_request", `token create: --role: expected ${roles.join(" or ")}`);
  }
  const token = tokenPrefix + randomBytes(32).toString("base64url");
  const digest = sha256(token);
  if (values.json === true) printJson({ name, role, token, sha256: digest });
  else {
    // A bare key of TOML has only these characters.
    const key = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
    print(`The token of ${name}, which is not shown again:\n\n${token}\n`);
    print(`Add to pds.toml, and restart the service:\n\n[admin.tokens.${key}]`);
    print(`sha256 = "${digest}"\nrole = "${role}"`);
  }
  return true;
}
