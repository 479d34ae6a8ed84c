import { readConfig } from "../config/index.ts";
import { openApiDocument } from "../reference/openapi.ts";
import { printJson } from "./output.ts";

export function printOpenApi(): boolean {
  printJson(openApiDocument(readConfig(process.env).publicUrl));
  return true;
}
