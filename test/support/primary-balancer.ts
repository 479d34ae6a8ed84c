import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { findFreePort } from "./free-port.ts";
import { root, temporaryFolder, writeFiles } from "./pds.ts";
import { answers } from "./pooler.ts";
import type { Postgres } from "./postgres.ts";
import { Program } from "./program.ts";

/**
 * Starts HAProxy as the documentation configures it, in front of a primary and its standby, until the
 * end of the test file. Create the standby after {@link allowChecks}.
 * @param servers where the connections lead to, such as ports that forward
 * @returns it, and the URL that leads to the one that accepts writes
 */
export async function startPrimaryBalancer(
  servers: readonly [string, string],
): Promise<{ readonly url: string; readonly program: Program }> {
  const port = await findFreePort();
  const documented = await readFile(join(root, "deploy", "haproxy-postgres.cfg"), "utf8");
  const [first, second] = servers.map((url) => new URL(url));
  if (first === undefined || second === undefined) throw new Error("two servers are needed");
  const [path = ""] = await writeFiles(await temporaryFolder(), {
    "haproxy.cfg": documented
      .replace("127.0.0.1:5000", `127.0.0.1:${port}`)
      .replace("postgres1 127.0.0.1:5432", `postgres1 ${first.host}`)
      .replace("postgres2 127.0.0.1:5433", `postgres2 ${second.host}`),
  });
  const url = new URL(first);
  url.host = `127.0.0.1:${port}`;
  const program = new Program(["haproxy", "-db", "-f", path], () => answers(url.href));
  return { url: url.href, program: await program.start() };
}

/** Creates the role of the balancer's check. */
export async function allowChecks(primary: Postgres): Promise<void> {
  await using sql = new SQL(primary.url, { max: 1 });
  await sql.unsafe("CREATE ROLE haproxy LOGIN");
}
