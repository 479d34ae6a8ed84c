import type { AST } from "toml-eslint-parser";

/**
 * The keys that lead to a value in the file, such as `["jobs", "personalization-import", 1,
 * "source"]`.
 */
export type KeyPath = readonly (string | number)[];

/** Counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Why a text is not TOML. */
export interface SyntaxProblem {
  readonly position: Position;
  /** Without any of the text, which may hold a secret. */
  readonly reason: string;
}

/** In UTF-16 units. The runtime's parser takes seconds beyond it: its time grows with the square. */
const maxFastLength = 32_768;

/** The parsers call themselves for each level; beyond this, they can run out of stack. */
const maxBrackets = 1000;

/** Each takes kilobytes to parse. A presentation of 4 MB has about as many; settings have dozens. */
const maxParts = 200_000;

/** Why a text must not be parsed; undefined if it may be. Counts strings and comments, too. */
export function findSizeProblem(text: string): string | undefined {
  let open = 0;
  let parts = 0;
  for (const [sign] of text.matchAll(/[[\]{}=,]/g)) {
    if (sign === "[" || sign === "{") open++;
    else if (sign === "]" || sign === "}") open--;
    if (open > maxBrackets) return `expected at most ${maxBrackets} brackets that are open at once`;
    if (sign !== "]" && sign !== "}" && ++parts > maxParts) {
      return `expected at most ${maxParts} tables, keys, and values`;
    }
  }
  return undefined;
}

/**
 * Parses TOML.
 * @throws Error if the text is not valid; `findSyntaxProblem` says where
 */
export function parseToml(text: string): Readonly<Record<string, unknown>> {
  if (text.length <= maxFastLength) {
    try {
      return Bun.TOML.parse(text) as Record<string, unknown>;
    } catch {
      // It refuses some valid values, such as a large number. The other parser throws the rest again.
    }
  }
  return toTable(parseTree(text));
}

/**
 * The runtime's parser does not report where anything is. This one is loaded only to report problems
 * and for large files, because that takes as long as a whole start.
 */
const loadParser = (): typeof import("toml-eslint-parser") => require("toml-eslint-parser");

function parseTree(text: string): AST.TOMLProgram {
  return loadParser().parseTOML(text, { tomlVersion: "1.0" });
}

type Container = Record<string | number, unknown>;

/** Without inherited keys: a key of the file may be `__proto__` or `constructor`. */
const createTable = (): Container => Object.create(null);

/** The parser's own function writes such keys into the prototype of all objects. */
function toTable(program: AST.TOMLProgram): Readonly<Record<string, unknown>> {
  const root = createTable();
  for (const node of program.body[0].body) {
    if (node.type === "TOMLKeyValue") addPair(root, node);
    else {
      const table = openContainer(root, [...node.resolvedKey, ""]);
      for (const pair of node.body) addPair(table, pair);
    }
  }
  return root;
}

function addPair(table: Container, { key, value }: AST.TOMLKeyValue): void {
  const names = namesOf(key);
  openContainer(table, names)[names.at(-1) ?? ""] = toValue(value);
}

/** The table or list that holds the last key of a path. Creates those on the way. */
function openContainer(root: Container, path: KeyPath): Container {
  return path.slice(0, -1).reduce<Container>((container, key, index) => {
    container[key] ??= typeof path[index + 1] === "number" ? [] : createTable();
    return container[key] as Container;
  }, root);
}

function toValue(node: AST.TOMLContentNode): unknown {
  if (node.type === "TOMLValue") return node.value;
  if (node.type === "TOMLArray") return node.elements.map(toValue);
  const table = createTable();
  for (const pair of node.body) addPair(table, pair);
  return table;
}

const namesOf = ({ keys }: AST.TOMLKey): string[] =>
  keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value));

/** @returns undefined if this parser finds the text valid, or cannot say where it is not */
export function findSyntaxProblem(text: string): SyntaxProblem | undefined {
  try {
    parseTree(text);
    return undefined;
  } catch (error) {
    // It runs out of stack at a text of a million characters.
    if (error instanceof RangeError) return undefined;
    const { lineNumber, column, message } = error as { lineNumber: number; column: number; message: string };
    return { position: { line: lineNumber, column: column + 1 }, reason: message.replace(/"[^"]*"|'[^']*'/g, "…") };
  }
}

/** No setting is deeper. A deeper value has the position of the closest one around it. */
const maxDepth = 16;

type Place = { readonly path: KeyPath; readonly position: Position };

/** Finds where the values of a valid text are. */
export class TomlPositions {
  readonly #text: string;
  #places: Map<string, Position> | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** The position of a value's key, or else of the closest table or list around it. */
  find(path: KeyPath): Position | undefined {
    this.#places ??= new Map(listPlaces(this.#text).map((place) => [toKey(place.path), place.position]));
    for (let length = path.length; length > 0; length--) {
      const position = this.#places.get(toKey(path.slice(0, length)));
      if (position !== undefined) return position;
    }
    return undefined;
  }
}

const toKey = (path: KeyPath) => JSON.stringify(path);

/** The position of each key, and of each table and list that a key or a header creates. */
function listPlaces(text: string): Place[] {
  const places = new Map<string, Place>();
  const add = (path: KeyPath, { loc }: AST.TOMLNode) => {
    const { line, column } = loc.start;
    // Dotted keys and headers also create the tables around theirs. The first mention counts.
    for (let length = 1; length <= Math.min(path.length, maxDepth); length++) {
      const part = path.slice(0, length);
      const key = toKey(part);
      if (!places.has(key)) places.set(key, { path: part, position: { line, column: column + 1 } });
    }
  };
  const addContent = (value: AST.TOMLContentNode, path: KeyPath): void => {
    if (path.length >= maxDepth) return;
    if (value.type === "TOMLInlineTable") for (const pair of value.body) addKey(pair, path);
    if (value.type === "TOMLArray") {
      for (const [index, element] of value.elements.entries()) {
        add([...path, index], element);
        addContent(element, [...path, index]);
      }
    }
  };
  const addKey = (pair: AST.TOMLKeyValue, table: KeyPath): void => {
    const path = [...table, ...namesOf(pair.key)];
    add(path, pair);
    addContent(pair.value, path);
  };
  for (const node of parseTree(text).body[0].body) {
    if (node.type === "TOMLKeyValue") addKey(node, []);
    else {
      add(node.resolvedKey, node);
      for (const pair of node.body) addKey(pair, node.resolvedKey);
    }
  }
  return [...places.values()];
}
