import { openApiDocument } from "../reference/openapi.ts";
import { printJson } from "./output.ts";

/** A service's own document begins its URLs with `PUBLIC_URL`. */
export function printOpenApi(): boolean {
  printJson(openApiDocument());
  return true;
}
