import { SQL } from "bun";
import { cleanUp } from "../support/clean-up.ts";
import { createPostgres, type Postgres } from "../support/postgres.ts";
import { allowChecks } from "../support/primary-balancer.ts";
import { type Proxy as Link, startProxy } from "../support/proxy.ts";
import { commitSynchronously, createStandby, type Standby } from "../support/standby.ts";

/** With the timeouts, a server notices within seconds that the way to the other one was cut. */
const settings = ["max_connections=200", "wal_sender_timeout=3s", "wal_receiver_timeout=3s"];

async function execute(url: string, statement: string): Promise<void> {
  await using sql = new SQL(url, { max: 1 });
  await sql.unsafe(statement);
}

/**
 * A primary and its synchronous standby at two addresses, which exchange their roles. It does what a
 * cluster manager such as Patroni does: promotes the standby when the primary is lost, and stops
 * waiting for a standby that is lost.
 */
export class Cluster {
  /** The servers by address. The one that is gone keeps its place until another is built there. */
  readonly #servers: [Postgres, Postgres];
  #primary: 0 | 1 = 0;
  /** Ways to each address. */
  readonly #ways: [Link[], Link[]] = [[], []];
  #replication: Link;

  private constructor(servers: [Postgres, Postgres], replication: Link) {
    this.#servers = servers;
    this.#replication = replication;
    cleanUp(async () => {
      for (const server of this.#servers.toReversed()) await server.remove();
    });
  }

  static async create(): Promise<Cluster> {
    const primary = await createPostgres(settings);
    await allowChecks(primary);
    const replication = await startProxy(primary.url);
    const standby = await createStandby(primary, { settings, primaryUrl: replication.url });
    await commitSynchronously(primary, standby);
    return new Cluster([primary, standby], replication);
  }

  get primary(): Postgres {
    return this.#servers[this.#primary];
  }

  get standby(): Standby {
    return this.#servers[this.#standbyAddress] as Standby;
  }

  get primaryAddress(): 0 | 1 {
    return this.#primary;
  }

  get #standbyAddress(): 0 | 1 {
    return this.#primary === 0 ? 1 : 0;
  }

  /** The link on which the standby follows the primary. */
  get replication(): Link {
    return this.#replication;
  }

  /** A way to an address, whichever server is there. */
  async openWay(address: 0 | 1): Promise<Link> {
    const way = await startProxy(this.#servers[address].url);
    this.#ways[address].push(way);
    return way;
  }

  /** Commits wait for the standby, or no longer. */
  async setSynchronous(isSynchronous: boolean): Promise<void> {
    if (isSynchronous) return await commitSynchronously(this.primary, this.standby);
    await execute(this.primary.url, "ALTER SYSTEM SET synchronous_standby_names = ''");
    await execute(this.primary.url, "SELECT pg_reload_conf()");
  }

  /** The standby becomes the primary, which must not be running any more. */
  async failOver(): Promise<void> {
    await this.standby.promote();
    this.#primary = this.#standbyAddress;
    // The setting was copied with the files, and names the server itself.
    await this.setSynchronous(false);
  }

  /** Builds a new standby in place of the server that is gone. */
  async rebuildStandby(): Promise<void> {
    const address = this.#standbyAddress;
    await this.#servers[address].remove();
    this.#replication = await startProxy(this.primary.url);
    const standby = await createStandby(this.primary, { settings, primaryUrl: this.#replication.url });
    this.#servers[address] = standby;
    for (const way of this.#ways[address]) way.redirect(standby.url);
    await this.setSynchronous(true);
  }
}
