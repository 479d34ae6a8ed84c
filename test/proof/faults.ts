import type { Program } from "../support/program.ts";
import type { Proxy as Link } from "../support/proxy.ts";
import { until } from "../support/until.ts";
import type { DirectReader } from "./direct-reader.ts";
import type { Fleet } from "./fleet.ts";

export interface Fault {
  readonly name: string;
  /** In the short form, only these. */
  readonly isShort?: boolean;
  /** Whether no replica can reach the database: what no cache has is refused. */
  readonly isWithoutDatabase?: boolean;
  readonly begin: () => Promise<unknown>;
  /** As operators, or their tools, repair it. */
  readonly end: () => Promise<unknown>;
  /** How long it lasts at least. */
  readonly holdMs?: () => number;
}

/** A cluster manager notices a loss only after a while. */
const noticedAfterMs = 2000;
/** Longer than the first purge takes after a change, and shorter than the second one. */
const lateMs = 2500;
/** Long enough for a replica to answer, and shorter than a change takes to get there. */
const answeredMs = 200;
/** An import begins each minute. */
const afterNextMinuteMs = () => 60_000 - (Date.now() % 60_000) + 8000;

export interface FaultOptions {
  /** Main file of the version to upgrade to. */
  readonly newVersion: string;
  /** Products that shoppers do not request. */
  readonly unrequestedIds: readonly string[];
  /** Reads such products at the replicas. */
  readonly reader: DirectReader;
}

/** All faults, one after the other. */
export function listFaults(fleet: Fleet, { newVersion, unrequestedIds, reader }: FaultOptions): Fault[] {
  const { cluster, erp, platform, replicas, balancers, edges, edgeUrls, databaseBalancer, pooler, links } = fleet;
  const cut = (name: string, ...ways: readonly Link[]): Fault => ({
    name: `cut: ${name}`,
    begin: async () => {
      for (const way of ways) way.cut();
    },
    end: async () => {
      for (const way of ways) way.restore();
    },
  });
  const kill = (name: string, program: Program | undefined): Fault => ({
    name: `killed: ${name}`,
    begin: async () => program?.kill("SIGKILL"),
    end: async () => program?.start(),
  });
  const failOver = (signal: NodeJS.Signals) => async () => {
    await cluster.primary.stop(signal);
    if (signal === "SIGKILL") await Bun.sleep(noticedAfterMs);
    await cluster.failOver();
  };
  const goOnWithoutStandby = async () => {
    await Bun.sleep(noticedAfterMs);
    await cluster.setSynchronous(false);
  };
  const [first, second, third] = replicas;
  return [
    {
      name: "killed: a replica",
      isShort: true,
      begin: async () => first?.end("SIGKILL"),
      end: async () => first?.start(),
    },
    {
      name: "frozen: a replica",
      isShort: true,
      begin: async () => second?.signal("SIGSTOP"),
      end: async () => second?.signal("SIGCONT"),
    },
    {
      name: "killed: the pooler",
      isShort: true,
      isWithoutDatabase: true,
      begin: () => pooler.stop("SIGKILL"),
      end: () => pooler.start(),
    },
    kill("a balancer", balancers[0]),
    { ...kill("an edge", edges[0]), isShort: true },
    { ...kill("the database balancer", databaseBalancer), isWithoutDatabase: true },
    {
      name: "killed: the standby",
      begin: async () => {
        await cluster.standby.stop("SIGKILL");
        await goOnWithoutStandby();
      },
      end: async () => {
        await cluster.standby.start();
        await cluster.standby.catchUp();
        await cluster.setSynchronous(true);
      },
    },
    {
      name: "killed: the primary, so the standby becomes the primary",
      isShort: true,
      isWithoutDatabase: true,
      begin: failOver("SIGKILL"),
      end: () => cluster.rebuildStandby(),
    },
    cut("a replica and the pooler", links.pooler[0] as Link),
    cut("a replica and the database balancer", links.direct[1] as Link),
    {
      ...cut("the pooler and the database balancer", links.poolerToDatabase),
      isShort: true,
      isWithoutDatabase: true,
      begin: async () => {
        // What is cached is old soon, and no poll says so.
        await reader.read();
        links.poolerToDatabase.cut();
        await reader.edit();
        await reader.readLater();
      },
    },
    {
      name: "cut: the database balancer and the primary",
      isWithoutDatabase: true,
      begin: async () => links.database[cluster.primaryAddress].cut(),
      end: async () => {
        for (const way of links.database) way.restore();
      },
    },
    {
      name: "cut: the primary and its standby",
      begin: async () => {
        cluster.replication.cut();
        await goOnWithoutStandby();
      },
      end: async () => {
        cluster.replication.restore();
        await cluster.standby.catchUp();
        await cluster.setSynchronous(true);
      },
    },
    cut("the balancers and a replica", links.replicas[2] as Link),
    cut("the edges and a balancer", links.balancers[1] as Link),
    cut("the service and an edge that it purges", links.purges[1] as Link),
    cut("the service and the platform", links.platform),
    cut("the platform and the service (webhooks)", links.deliveries),
    {
      name: "down: the ERP system",
      begin: async () => {
        erp.isDown = true;
      },
      holdMs: afterNextMinuteMs,
      end: async () => {
        erp.isDown = false;
      },
    },
    {
      name: "killed at once: a replica, a balancer, and the pooler",
      isShort: true,
      isWithoutDatabase: true,
      begin: () => Promise.all([first?.end("SIGKILL"), balancers[0]?.kill("SIGKILL"), pooler.stop("SIGKILL")]),
      end: async () => {
        // One that cannot open the store exits, and is started again.
        await Promise.all([first?.start(), balancers[0]?.start(), pooler.start()]);
      },
    },
    {
      name: "switched over: primary and standby, as planned",
      isWithoutDatabase: true,
      begin: failOver("SIGINT"),
      end: () => cluster.rebuildStandby(),
    },
    {
      name: "upgraded: one replica after the other",
      isShort: true,
      begin: async () => first?.upgrade(newVersion),
      end: async () => {
        await second?.upgrade(newVersion);
        await third?.upgrade(newVersion);
      },
    },
    {
      // The last, because a failover purges everything. Responses of before a change get to
      // the edges after its first purge, and must be gone at the end.
      name: "slow: the edges and a balancer",
      isShort: true,
      begin: async () => {
        links.balancers[1]?.delay(lateMs);
        const requests = edgeUrls.flatMap((url) =>
          unrequestedIds.map((id) => fetch(`${url}/api/v1/products/${id}`).then((response) => response.text())),
        );
        await Bun.sleep(answeredMs);
        for (const id of unrequestedIds) platform.catalog.touch(id, { product: { title: "v1", vendor: "v1" } });
        await Promise.allSettled(requests);
      },
      end: async () => links.balancers[1]?.delay(0),
    },
  ];
}

/** Waits until every part has all the others again. */
export async function untilWhole({ replicas, edgeUrls, balancerUrls }: Fleet): Promise<void> {
  await until("every replica has its store", async () =>
    (await Promise.all(replicas.map((replica) => replica.isWhole()))).every(Boolean),
  );
  await until("every edge and balancer answers", async () => {
    const statuses = await Promise.all(
      [...edgeUrls, ...balancerUrls].map((url) =>
        fetch(`${url}/api/v1/histories`, { signal: AbortSignal.timeout(2000) }).then(
          ({ status }) => status,
          () => 0,
        ),
      ),
    );
    return statuses.every((status) => status === 200);
  });
}
