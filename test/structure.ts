import { posix } from "node:path";

/** A file of `src` with its text, named from there. */
export interface Source {
  readonly file: string;
  readonly text: string;
}

/** The room that a file stands in: a folder of `src`, or `main`. */
export const roomOf = (file: string) => file.split("/")[0]?.replace(/\.tsx?$/, "") ?? "";

/**
 * The path of every import, export from, and dynamic import of a source text, also of types; undefined
 * for one that is computed.
 */
export function importsOf(text: string): (string | undefined)[] {
  const statements = /^[ \t]*(?:import|export)\s+(?:type\s+)?(?:[\w$*{][^"'`;()=]*?\bfrom\s*)?["']([^"']+)["']/gm;
  const calls = /(?<![.\w$])(?:import|require)\s*\(\s*([^)\n]*)/g;
  return [
    ...[...text.matchAll(statements)].map(([, path]) => path),
    ...[...text.matchAll(calls)].map(([, argument = ""]) => argument.match(/^["']([^"']+)["']/)?.[1]),
  ];
}

/** Every source file of a checkout, without declarations. */
export async function readSources(root: string): Promise<Source[]> {
  const files = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(`${root}/src`)].filter((file) => !file.endsWith(".d.ts"));
  return await Promise.all(
    files.sort().map(async (file) => ({ file, text: await Bun.file(`${root}/src/${file}`).text() })),
  );
}

export interface Structure {
  readonly rooms: number;
  /** Pairs of rooms of which the first imports the second. */
  readonly arrows: readonly string[];
  readonly files: number;
  readonly lines: number;
  /** Files that import each other, directly or not, also for types alone. */
  readonly circles: readonly (readonly string[])[];
}

export function measure(sources: readonly Source[]): Structure {
  const known = new Set(sources.map(({ file }) => file));
  const imports = new Map(
    sources.map(({ file, text }) => {
      const paths = importsOf(text).map((path) => posix.join(posix.dirname(file), path ?? ""));
      return [file, paths.filter((path) => known.has(path))];
    }),
  );
  const arrows = new Set(
    [...imports].flatMap(([file, paths]) =>
      paths.filter((path) => roomOf(path) !== roomOf(file)).map((path) => `${roomOf(file)} → ${roomOf(path)}`),
    ),
  );
  const reachable = new Map([...known].map((file) => [file, reach(file, imports)]));
  const circles = new Map<string, readonly string[]>();
  for (const [file, others] of reachable) {
    const circle = [...others].filter((other) => reachable.get(other)?.has(file)).sort();
    if (circle.length > 0) circles.set(circle.join(), circle);
  }
  return {
    rooms: new Set(sources.map(({ file }) => roomOf(file))).size,
    arrows: [...arrows].sort(),
    files: sources.length,
    lines: sources.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0),
    circles: [...circles.values()],
  };
}

/** What a file imports, directly or not. */
function reach(file: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const found = new Set<string>();
  const pending = [file];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const path of imports.get(next) ?? []) {
      if (found.has(path)) continue;
      found.add(path);
      pending.push(path);
    }
  }
  return found;
}
