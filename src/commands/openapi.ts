import { openApiDocument } from "../reference/openapi.ts";
import { printJson } from "./output.ts";

export function printOpenApi(): boolean {
  printJson(openApiDocument());
  return true;
}
