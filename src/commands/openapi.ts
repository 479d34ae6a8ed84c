import { openApiDocument } from "../reference/openapi.ts";
import { printJson } from "./output.ts";

/** Needs no settings. That of a service begins its URLs with `PUBLIC_URL`. */
export function printOpenApi(): boolean {
  printJson(openApiDocument());
  return true;
}
