import { writeSync } from "node:fs";
import { isBuiltin } from "node:module";

// Preloaded into a program: when it exits, its last line lists the modules that it has loaded, and the
// modules of the runtime that it has taken on first use.
const taken = new Set<string>();
const get = process.getBuiltinModule as (name: string) => unknown;
process.getBuiltinModule = ((name: string) => {
  taken.add(name);
  return get(name);
}) as typeof process.getBuiltinModule;
process.on("exit", () => {
  const files = Object.keys(require.cache).filter((name) => !isBuiltin(name));
  writeSync(1, `${JSON.stringify([...files, ...taken])}\n`);
});
