import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { cleanUp } from "./clean-up.ts";
import { findFreePort } from "./free-port.ts";
import { killOnExit } from "./kill-on-exit.ts";
import { root, temporaryFolder, writeFiles } from "./pds.ts";
import { until } from "./until.ts";

/** PgBouncer in transaction mode, as the documentation configures it. */
export interface Pooler {
  /** URL of the database behind it. */
  readonly url: string;
  start(): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<void>;
  /** Holds up every statement that begins from now on, and waits for the others. */
  pause(): void;
  resume(): void;
}

/** Undefined where it is not installed: on Debian, `apt-get install pgbouncer`. */
export const pgbouncer = Bun.which("pgbouncer", { PATH: `${process.env.PATH}:/usr/sbin` });

/**
 * Starts it until the end of the test file.
 * @param databaseUrl where its connections lead to
 * @param settings that differ from those of the documentation, by name
 */
export async function startPooler(
  databaseUrl: string,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Pooler> {
  const { hostname, port: targetPort, pathname, username } = new URL(databaseUrl);
  const port = await findFreePort();
  const documented = await readFile(join(root, "deploy", "pgbouncer.ini"), "utf8");
  const folder = await temporaryFolder();
  // The servers of tests trust every user, and so does this.
  const all = { listen_port: port, auth_type: "trust", auth_file: join(folder, "users.txt"), ...settings };
  const text = Object.entries(all).reduce(
    (result, [name, value]) => `${result.replace(new RegExp(`^${name} = .*\n`, "m"), "")}${name} = ${value}\n`,
    documented.replace("pds = host=127.0.0.1 port=5432", `* = host=${hostname} port=${targetPort}`),
  );
  const [path = ""] = await writeFiles(folder, { "pgbouncer.ini": text, "users.txt": `"${username}" ""\n` });
  await chmod(folder, 0o755);
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const url = `postgres://${username}@127.0.0.1:${port}${pathname}`;
  let child: Bun.Subprocess<"ignore", "ignore", "pipe">;
  const start = async () => {
    child = Bun.spawn([pgbouncer ?? "", ...user, path], { stdio: ["ignore", "ignore", "pipe"] });
    killOnExit(child, "TERM");
    await until("the pooler answers", async () => {
      if (child.exitCode !== null) throw new Error(`pgbouncer exited: ${await child.stderr.text()}`);
      return await answers(url);
    });
  };
  const stop = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await child.exited;
  };
  await start();
  cleanUp(() => stop("SIGKILL"));
  return { url, start, stop, pause: () => child.kill("SIGUSR1"), resume: () => child.kill("SIGUSR2") };
}

/** Whether a server answers a statement within two seconds. */
export async function answers(url: string): Promise<boolean> {
  const sql = new SQL(url, { max: 1, connectionTimeout: 2, prepare: false });
  const answer = sql`SELECT 1`.then(
    () => true,
    () => false,
  );
  const hasAnswered = await Promise.race([answer, Bun.sleep(2000).then(() => false)]);
  await sql.close({ timeout: 0 });
  return hasAnswered;
}
