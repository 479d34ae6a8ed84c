import { isUtf8 } from "node:buffer";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** A secret that is in a file of its own. */
export interface SecretFile {
  readonly path: string;
  readonly text: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const maxBytes = 64 * 1024;

/** systemd prepends this to the names of files in a folder that it loads: `LoadCredential=pds:FOLDER`. */
const folderPrefix = "pds_";

/**
 * Reads a secret from the file that `NAME_FILE` names, or from systemd's credential `NAME`.
 * @param name in the environment, such as `ADMIN_TOKEN`
 * @returns undefined if there is neither
 * @throws Error that says which file is unusable, and why
 */
export function readSecretFile(name: string, environment: Environment): SecretFile | undefined {
  const path = environment[`${name}_FILE`];
  const folder = environment.CREDENTIALS_DIRECTORY;
  if (path === undefined) return folder === undefined ? undefined : readCredential(name, folder);
  if (environment[name] !== undefined) throw new Error(`set ${name} or ${name}_FILE, not both`);
  const variable = `environment variable ${name}_FILE`;
  if (path === "") throw new Error(`${variable}: expected the path of a file`);
  const text = readText(path);
  if (text === undefined) throw new Error(`${variable}: ${path} does not exist`);
  return { path, text };
}

function readCredential(name: string, folder: string): SecretFile | undefined {
  for (const file of [name, `${folderPrefix}${name}`]) {
    const path = join(folder, file);
    const text = readText(path);
    if (text !== undefined) return { path, text };
  }
  return undefined;
}

/**
 * Maps the paths of systemd's credentials that nothing reads to their names. Leaves out files that an
 * environment variable names, and hidden files, such as those of Kubernetes.
 * @param names of the credentials that are read
 */
export function listOtherCredentials(names: readonly string[], environment: Environment): Map<string, string> {
  const folder = environment.CREDENTIALS_DIRECTORY;
  const others = new Map<string, string>();
  for (const file of folder === undefined ? [] : listFiles(folder)) {
    const name = file.startsWith(folderPrefix) ? file.slice(folderPrefix.length) : file;
    const path = join(folder ?? "", file);
    if (!file.startsWith(".") && !names.includes(name) && !Object.values(environment).includes(path)) {
      others.set(path, name);
    }
  }
  return others;
}

/** Credentials are optional, so the folder may be missing or unreadable. */
function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** Strips line breaks from the end: editors and `echo` add one. */
function readText(path: string): string | undefined {
  let bytes: Buffer;
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    if (!stat.isFile()) throw new Error("expected a regular file");
    if (stat.size > maxBytes) throw new Error("expected a secret of at most 64 kB");
    bytes = readFileSync(path);
  } catch (cause) {
    throw new Error(`cannot read ${path}: ${(cause as Error).message}`, { cause });
  }
  if (!isUtf8(bytes)) throw new Error(`cannot read ${path}: expected UTF-8 text`);
  return new TextDecoder().decode(bytes).replace(/[\r\n]+$/, "");
}
