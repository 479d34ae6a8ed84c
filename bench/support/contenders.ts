import { join } from "node:path";
import { findFreePort } from "../../test/support/free-port.ts";
import { killOnExit } from "../../test/support/kill-on-exit.ts";
import { writeNginx } from "../peers/nginx.ts";
import { onCore, serverCore } from "./processes.ts";
import { command, ready, settings } from "./service.ts";
import { type Stores, shop } from "./stores.ts";

/** Servers, by their names in the tables. */
export const names = {
  ours: "this service",
  bare: "bare `Bun.serve`",
  nginx: "nginx, static files",
  fastify: "Fastify + pg + lru-cache",
  express: "Express + pg",
  coldSqlite: "this service, cache off, SQLite",
  coldPostgres: "this service, cache off, PostgreSQL",
} as const;

export type Name = keyof typeof names;

/** A running server, pinned to its own core if possible. */
export interface Contender {
  readonly name: Name;
  /** Base URL of the operations. */
  readonly url: string;
  readonly pid: number;
}

/** The running servers of a comparison. Disposing of it stops them. */
export class Contenders implements AsyncDisposable {
  readonly all: Contender[] = [];
  readonly #children: Bun.Subprocess[] = [];

  #own(child: Bun.Subprocess): void {
    this.#children.push(child);
    killOnExit(child, "TERM");
  }

  /** @param readyPattern matches the output once it listens, and captures its URL */
  async #start(
    name: Name,
    args: readonly string[],
    environment: Record<string, string>,
    readyPattern: RegExp,
  ): Promise<void> {
    const child = Bun.spawn([...onCore(serverCore), ...args], {
      env: { PATH: process.env.PATH ?? "", ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#own(child);
    let printed = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      printed += chunk;
      if (readyPattern.test(printed)) break;
    }
    const [, url] = printed.match(readyPattern) ?? [];
    if (url === undefined) throw new Error(`${names[name]} did not start`);
    this.all.push({ name, url: url.endsWith("/api/v1") ? url : `${url}/api/v1`, pid: child.pid });
  }

  /** Starts the service with all features on, or with its cache off. */
  async startService(name: "ours" | "coldSqlite" | "coldPostgres", stores: Stores): Promise<void> {
    const store = name === "coldPostgres" ? stores.postgres : stores.sqlite;
    const memory: Record<string, string> = name === "ours" ? {} : { MEMORY_MEGABYTES: "0" };
    await this.#start(name, command, { ...settings, DATABASE_URL: store, SHOP_DOMAIN: shop, ...memory }, ready);
  }

  /** @param root folder of the files to serve */
  startBare(root: string): Promise<void> {
    return this.#start("bare", [process.execPath, join(peers, "bare.ts"), root], {}, address);
  }

  async startNginx(root: string, folder: string): Promise<void> {
    const port = await findFreePort();
    const args = await writeNginx(folder, root, port);
    const child = Bun.spawn([...onCore(serverCore), ...args], { stdio: ["ignore", "ignore", "inherit"] });
    this.#own(child);
    const url = `http://127.0.0.1:${port}`;
    // nginx prints nothing when it is ready.
    for (let attempt = 0; !(await fetch(url).catch(() => undefined)); attempt++) {
      if (attempt > 200 || child.exitCode !== null) throw new Error("nginx did not start");
      await Bun.sleep(25);
    }
    this.all.push({ name: "nginx", url: `${url}/api/v1`, pid: child.pid });
  }

  startHandwritten(name: "fastify" | "express", { plain }: Stores): Promise<void> {
    const environment = { DATABASE_URL: plain, SHOP_DOMAIN: shop, NODE_ENV: "production" };
    return this.#start(name, ["node", join(peers, `${name}.js`)], environment, address);
  }

  get(name: Name): Contender {
    const found = this.all.find((contender) => contender.name === name);
    if (found === undefined) throw new Error(`${names[name]} is not running`);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill("SIGTERM");
    await Promise.all(this.#children.map(({ exited }) => exited));
  }
}

export const peers = join(import.meta.dir, "..", "peers");
const address = /^(http:\S+)$/m;

const dependencies = async (): Promise<Record<string, string>> =>
  (await Bun.file(join(peers, "package.json")).json()).dependencies;

/** Version of an installed package of bench/peers. @returns undefined if it is missing */
async function installedVersion(name: string): Promise<string | undefined> {
  const file = Bun.file(join(peers, "node_modules", name, "package.json"));
  return (await file.exists()) ? (await file.json()).version : undefined;
}

async function arePeersInstalled(): Promise<boolean> {
  const wanted = Object.entries(await dependencies());
  const found = await Promise.all(wanted.map(([name]) => installedVersion(name)));
  return wanted.every(([, version], index) => found[index] === version);
}

/**
 * Installs Express and Fastify into bench/peers.
 * @returns their versions, or undefined without Node and npm
 */
export async function installPeers(logProgress: (line: string) => void): Promise<Record<string, string> | undefined> {
  if (!(await arePeersInstalled())) {
    if (Bun.which("npm") === null || Bun.which("node") === null) return undefined;
    logProgress("installing Express and Fastify into bench/peers");
    const child = Bun.spawn(["npm", "ci", "--prefix", peers, "--loglevel=error", "--no-audit", "--no-fund"], {
      stdio: ["ignore", 2, 2],
    });
    if ((await child.exited) !== 0) throw new Error("npm ci --prefix bench/peers failed");
  }
  return Bun.which("node") === null ? undefined : await dependencies();
}
