import { constants, Database as File, type Statement } from "bun:sqlite";
import {
  accessSync,
  closeSync,
  existsSync,
  constants as files,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SQL } from "bun";
import type { EngineConnections, Purpose, Read, Value } from "../engine.ts";
import { retryWhileBusy } from "../retry-while-busy.ts";
import { classify, DamagedFileError, findDamage, LostFileError } from "./errors.ts";

export const scheme = "sqlite:";
/** Absolute, because the driver interprets paths such as `file:x`, and ignores spaces. */
export const filePathOf = (url: string) => resolve(url.slice(scheme.length).trim());

const cacheSize = "PRAGMA cache_size = -16384";

// No mmap_size: mapped pages count as process memory, 443 instead of 216 MB for 20,000 products.
const pragmas = [
  // First, so that the statements below wait for another process's lock.
  "PRAGMA busy_timeout = 10000",
  // With WAL, a power cut loses at most the last commits and never corrupts the file.
  "PRAGMA synchronous = NORMAL",
  "PRAGMA foreign_keys = ON",
  cacheSize,
  "PRAGMA journal_size_limit = 67108864",
  // ANALYZE needs only a sample of each index.
  "PRAGMA analysis_limit = 1000",
];

// Waiting for the lock would block the event loop. So would a checkpoint: other writers run it.
const schedulingPragmas = ["PRAGMA busy_timeout = 0", "PRAGMA wal_autocheckpoint = 0"];

export async function openFile(path: string, purpose: Purpose): Promise<EngineConnections> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  // Otherwise, SQLite would create files as this user, and the owner could no longer write.
  if (sizeOf(path) > 0) requireWritable(path);
  const sql = new SQL({ adapter: "sqlite", filename: path });
  try {
    for (const pragma of [...pragmas, ...(purpose === "scheduling" ? schedulingPragmas : [])])
      await retryWhileBusy({ classify }, () => sql.unsafe(pragma));
  } catch (error) {
    await sql.close({ timeout: 0 });
    throw error;
  }
  const { read, closeReader } = createReader(path);
  const close = async (timeout: number) => {
    closeReader();
    await sql.close({ timeout });
  };
  // IMMEDIATE takes the only lock at once. It ends with the process, so the run does not matter.
  const begin = async <T>(work: (transaction: SQL) => Promise<T>) => (await sql.begin("IMMEDIATE", work)) as T;
  return { sql, begin, folder, read, close };
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Opens the file read-only: closing a writable connection would lose the log of a damaged file. */
export async function lookAt<T>(path: string, work: (read: Read) => Promise<T>): Promise<T | undefined> {
  // SQLite would remove the log.
  if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) > 0)
    throw new Error(`it is missing or empty, but ${path}-wal has changes; put a backup in its place`);
  const look = async (name: string, flags: number) => {
    using file = new File(name, flags);
    return await work(<Row>(statement: string, values: Value[]) => file.query<Row, Value[]>(statement).all(...values));
  };
  if (sizeOf(path) === 0) return await look(":memory:", constants.SQLITE_OPEN_READWRITE);
  const lookAtFileAlone = () =>
    look(`${pathToFileURL(path)}?immutable=1`, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI);
  // Even a read-only connection would create files of its user, which others cannot write.
  if (isAtRest(path)) return await lookAtFileAlone();
  try {
    return await look(path, constants.SQLITE_OPEN_READONLY);
  } catch (error) {
    if (classify(error) !== "read-only") throw error;
    // A killed process left changes to roll back, unless the store is another program's. Until
    // then, it may look damaged.
    return await lookAtFileAlone().catch((cause: unknown) => {
      if (classify(cause) === undefined) throw cause;
      return undefined;
    });
  }
}

export function requireWritable(path: string): void {
  const isThere = sizeOf(path) > 0;
  if (isThere) requireAccess(path, "this user may not write it; use the user of the service");
  else if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && !existsSync(path))
    throw new Error("it is a link to a file that is not there");
  let folder = dirname(isThere ? realpathSync(path) : path);
  while (!existsSync(folder)) folder = dirname(folder);
  // The slash makes it fail for a file in place of the folder.
  requireAccess(`${folder}/`, `this user may not create files in ${folder}`);
}

export function requireWhole(path: string): void {
  using file = new File(path, { readonly: true });
  const damage = findDamage(file);
  if (damage !== undefined) throw new DamagedFileError(`it is damaged: ${damage}`);
}

function requireAccess(path: string, message: string): void {
  try {
    accessSync(path, files.W_OK);
  } catch (cause) {
    throw new Error(message, { cause });
  }
}

/** Whether the file is in WAL mode, and no process has it open. */
function isAtRest(link: string): boolean {
  // The log is next to the target of a link.
  const path = realpathSync(link);
  // This process may have it open, too. Closing any descriptor would drop its locks, and another
  // program that closes the file could then remove the log.
  if (existsSync(`${path}-wal`)) return false;
  const header = Buffer.alloc(20);
  const file = openSync(path, "r");
  readSync(file, header);
  closeSync(file);
  // The format's versions for writing and reading; 2 is WAL.
  return header[18] === 2 && header[19] === 2;
}

/** WAL lets reads continue while an import writes. The switch ignores the busy timeout. */
export const prepare = (sql: SQL) => retryWhileBusy({ classify }, () => sql.unsafe("PRAGMA journal_mode = WAL"));

/** Statements name generations, which come and go. */
const maxStatements = 100;

/** Keeps compiled statements: the driver would compile again, which takes as long as running. */
function createReader(path: string): Pick<EngineConnections, "read"> & { readonly closeReader: () => void } {
  let file: File | undefined;
  const checkFile = createFileCheck(path);
  const statements = new Map<string, Statement>();
  const prepare = (text: string): Statement => {
    file ??= openReadOnly(path);
    const statement = file.prepare(text);
    statements.set(text, statement);
    for (const [oldest, unused] of statements) {
      if (statements.size <= maxStatements) break;
      statements.delete(oldest);
      unused.finalize();
    }
    return statement;
  };
  return {
    read: <Row>(text: string, values: Value[]) => {
      checkFile();
      const statement = statements.get(text) ?? prepare(text);
      return statement.all(...values) as Row[];
    },
    closeReader: () => file?.close(),
  };
}

const fileCheckMs = 100;

/**
 * A removed or replaced file can still be read, but other processes use the one at its path.
 * @returns a function that throws LostFileError in that case
 */
function createFileCheck(path: string): () => void {
  const opened = identify(path);
  let checkedAtMs = performance.now();
  return () => {
    const nowMs = performance.now();
    if (nowMs - checkedAtMs < fileCheckMs) return;
    if (identify(path) !== opened) {
      throw new LostFileError(`${path} was removed or replaced; put it back, or restart the service`);
    }
    checkedAtMs = nowMs;
  };
}

function identify(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

function openReadOnly(path: string): File {
  const file = new File(path, { readonly: true });
  file.run("PRAGMA busy_timeout = 1000");
  file.run(cacheSize);
  return file;
}
