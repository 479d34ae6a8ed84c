import type { Engine } from "./engine.ts";
import { postgres } from "./postgres/index.ts";
import { sqlite } from "./sqlite/index.ts";

export const engines: readonly Engine[] = [sqlite, postgres];

/** @throws Error when no engine has the URL's scheme */
export function engineOf(url: string): Engine {
  const engine = engines.find(({ schemes }) => schemes.some((scheme) => url.startsWith(scheme)));
  if (engine === undefined) throw new Error("no engine has this scheme");
  return engine;
}
