import { openApiDocument } from "../reference/openapi.ts";
import { printJson } from "./output.ts";

/** Needs no settings. The document that a service serves begins its URLs with `PUBLIC_URL`. */
export function printOpenApi(): boolean {
  printJson(openApiDocument());
  return true;
}
