import type { AST } from "toml-eslint-parser";
import { type ErrorCode, ServiceError } from "./errors.ts";

/** The keys that lead to a value, such as `["jobs", "personalization-import", 1, "source"]`. */
export type KeyPath = readonly (string | number)[];

/** Counted from 1. */
interface Position {
  readonly line: number;
  readonly column: number;
}

export type TomlTable = Readonly<Record<string, unknown>>;

export interface TomlFile {
  readonly values: TomlTable;
  /** Finds a value's key, or else the closest table or list around it. */
  locate(path: KeyPath): Position | undefined;
}

/** In UTF-16 units. The runtime's parser is quadratic: beyond this, it takes seconds. */
const maxFastLength = 32_768;

/** The parsers recurse at each level, and can run out of stack beyond this. */
const maxBrackets = 1000;

/** Each takes kilobytes to parse. A presentation of 4 MB has about as many. */
const maxParts = 200_000;

/**
 * @param file the name for messages
 * @throws ServiceError `code`; the message has the position, but no text, which may hold a secret
 */
export function parseToml(text: string, file: string, code: ErrorCode): TomlFile {
  const sizeProblem = findSizeProblem(text);
  if (sizeProblem !== undefined) throw new ServiceError(code, `${file}: ${sizeProblem}`);
  let places: Map<string, Position> | undefined;
  const locate = (path: KeyPath): Position | undefined => {
    places ??= listPlaces(text);
    for (let length = path.length; length > 0; length--) {
      const position = places.get(toKey(path.slice(0, length)));
      if (position !== undefined) return position;
    }
    return undefined;
  };
  try {
    return { values: parseValues(text), locate };
  } catch (cause) {
    const { position, reason } = describeError(cause as Error);
    throw new ServiceError(code, `${formatPlace(file, position)}: invalid TOML: ${reason}`, { cause });
  }
}

export const formatPlace = (file: string, position: Position | undefined) =>
  position === undefined ? file : `${file}:${position.line}:${position.column}`;

/** Whether a value is a table; lists and dates are objects, too. */
export function isTable(value: unknown): value is TomlTable {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Also counts what is in strings and comments. */
function findSizeProblem(text: string): string | undefined {
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

function parseValues(text: string): TomlTable {
  if (text.length <= maxFastLength) {
    try {
      return Bun.TOML.parse(text) as TomlTable;
    } catch {
      // It rejects some valid values, such as a large number.
    }
  }
  return toTable(parseTree(text));
}

function describeError(error: Error): { readonly position?: Position; readonly reason: string } {
  const { lineNumber: line, column, message } = error as Error & { lineNumber?: number; column: number };
  // The parser runs out of stack for a text of a million characters.
  if (line === undefined) return { reason: "a value is too long" };
  return { position: { line, column: column + 1 }, reason: message.replace(/"[^"]*"|'[^']*'/g, "…") };
}

/** Loading it takes as long as the whole start, so only problems and large files do. */
const loadParser = (): typeof import("toml-eslint-parser") => require("toml-eslint-parser");

function parseTree(text: string): AST.TOMLProgram {
  return loadParser().parseTOML(text, { tomlVersion: "1.1" });
}

type Container = Record<string | number, unknown>;

/** It inherits no keys, because the file may have the keys `__proto__` or `constructor`. */
const createTable = (): Container => Object.create(null);

/** The parser's own conversion writes such keys into the prototype of all objects. */
function toTable(program: AST.TOMLProgram): TomlTable {
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

/** Opens the container of a path's last key, and creates those on the way. */
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

/** No setting is deeper. A deeper value gets the position of the closest one around it. */
const maxDepth = 16;

const toKey = (path: KeyPath) => JSON.stringify(path);

/** Lists positions by key, also of tables and lists that a key or a header creates. */
function listPlaces(text: string): Map<string, Position> {
  const places = new Map<string, Position>();
  const add = (path: KeyPath, { loc }: AST.TOMLNode) => {
    const { line, column } = loc.start;
    // Dotted keys and headers also create the tables around them. The first mention counts.
    for (let length = 1; length <= Math.min(path.length, maxDepth); length++) {
      const key = toKey(path.slice(0, length));
      if (!places.has(key)) places.set(key, { line, column: column + 1 });
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
  return places;
}
