import type { Costs } from "./costs.ts";
import type { Prediction } from "./fleet.ts";
import { shown } from "./report.ts";

/** A resource that a fleet can run out of. */
export interface Limit {
  readonly name: string;
  /** Above 1, it is not enough. */
  readonly utilization: number;
  /** How much of it is used. */
  readonly detail: string;
  readonly remedy: string;
}

/** Points for one changed product, as measured by `npm run bench:platform -- changes`. */
const pointsPerProduct = 38.7;
/** How long a process may be cut off from the store without clearing its cache: a restart of PostgreSQL. */
const outageS = 60;
/** Connections that PostgreSQL keeps for superusers. */
const reservedConnections = 3;

/** @returns the limits, the most used one first */
export function findLimits(prediction: Omit<Prediction, "limits">, costs: Costs, keptChanges: number): Limit[] {
  const { fleet, replicas, database, purges } = prediction;
  const feedS = fleet.feed_minutes * 60;
  const importS = (fleet.feed_rows * costs.row.elapsedUs) / 1e6;
  const points = fleet.product_changes_per_second * pointsPerProduct;
  const connections = fleet.max_connections - reservedConnections;
  const changesPerSecond = fleet.product_changes_per_second + 1 / feedS;
  const logged = changesPerSecond * outageS;
  const limits: Limit[] = [
    {
      name: "CPU of replicas",
      utilization: replicas.utilization / fleet.target_utilization,
      detail: `${shown(replicas.utilization * replicas.count)} of ${shown(fleet.target_utilization * replicas.count)} cores`,
      remedy: "more replicas",
    },
    {
      name: "CPU of the busiest replica",
      utilization: replicas.hottestUtilization,
      detail: `${shown(replicas.hottestUtilization)} of its core`,
      remedy: "routing to any replica, or a CDN",
    },
    {
      name: "CPU of PostgreSQL",
      utilization: database.cores / fleet.database_cores,
      detail: `${shown(database.cores)} of ${fleet.database_cores} cores: ${shown(database.readsPerSecond)} reads and ${shown(database.pollsPerSecond)} polls per second`,
      remedy: "more memory for caches, standbys for reads, or fewer processes",
    },
    {
      name: "connections to PostgreSQL",
      utilization: database.connections / connections,
      detail: `${shown(database.connections)} of ${shown(connections)}`,
      remedy: "a pooler",
    },
    {
      name: "platform points",
      utilization: points / fleet.platform_points_per_second,
      detail: `${shown(points)} of ${shown(fleet.platform_points_per_second)} per second`,
      remedy: "a larger plan of the platform",
    },
    {
      name: "imports",
      utilization: importS / feedS,
      detail: `${shown(importS)} s of every ${shown(feedS)} s`,
      remedy: "fewer feeds",
    },
    {
      name: "change log",
      utilization: logged / keptChanges,
      detail: `${shown(logged)} changes in an outage of a minute, of ${shown(keptChanges)} that are kept`,
      remedy: "fewer changes; beyond it, caches are cleared after an outage",
    },
  ];
  if (database.standbyCores !== undefined) {
    limits.push({
      name: "CPU of a standby",
      utilization: database.standbyCores / fleet.database_cores,
      detail: `${shown(database.standbyCores)} of ${fleet.database_cores} cores`,
      remedy: "more standbys",
    });
  }
  if (fleet.cdn !== "none" && fleet.purge === "on") {
    limits.push({
      name: "purges of the CDN",
      utilization: purges.demand / purges.capacity,
      detail: `${shown(purges.demand)} of ${shown(purges.capacity)} tags per second`,
      remedy: "another CDN or plan; beyond it, all products are purged",
    });
    limits.push({
      name: "purge of a feed",
      utilization: fleet.feed_changes / purges.feedCapacity,
      detail: `${shown(fleet.feed_changes)} of ${shown(purges.feedCapacity)} SKUs at once`,
      remedy: "another CDN or plan; beyond it, all personalization is purged",
    });
  }
  return limits.toSorted((a, b) => b.utilization - a.utilization);
}
