import { expect, test } from "bun:test";
import { createSequence } from "../../bench/support/sequence.ts";
import { changeProduct, insertProducts, toProduct } from "../support/catalog.ts";
import { cleanUp } from "../support/clean-up.ts";
import { findFreePort } from "../support/free-port.ts";
import {
  connectTo,
  createMigratedStore,
  type Engine,
  enginesOf,
  isCampaign,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";
import { startVarnish, varnishd } from "../support/varnish.ts";

// Real Varnish in front of three replicas. The proof shows that each change reaches the edge, and that no
// old response comes back.

const replicaCount = 3;
/** How many keys the hit ratio is measured over, with one change per second. */
const manyKeys = Number(process.env.EDGE_KEYS ?? (isCampaign ? 100_000 : 2000));
const hitSeconds = isCampaign ? 180 : 4;
const idOf = (key: number) => 1000 + key;

if (varnishd === null) process.stderr.write("Varnish is not installed, so nothing is tested in front of it.\n");

const hitRatio = ({ hits, reads }: { hits: number; reads: number }) => (hits / reads).toFixed(4);

/** Three replicas on one store with products of version 0, behind Varnish. */
async function startEdge(engine: Engine, keys: number) {
  const url = await createMigratedStore(engine);
  const sql = await connectTo(url);
  cleanUp(() => sql.close());
  const productOf = (key: number, version: number) => toProduct(idOf(key), { title: `v${version}` });
  for (let from = 0; from < keys; from += 1000) {
    const length = Math.min(1000, keys - from);
    await insertProducts(
      sql,
      Array.from({ length }, (_, index) => productOf(from + index, 0)),
    );
  }

  const folder = await temporaryFolder();
  const edgePort = await findFreePort();
  const edgeUrl = `http://127.0.0.1:${edgePort}`;
  const [PDS_CONFIG = ""] = await writeFiles(folder, { "pds.toml": `[purge]\nurl = "${edgeUrl}/"\n` });
  const ports = await Promise.all(Array.from({ length: replicaCount }, findFreePort));
  const environment = { PDS_CONFIG, DATABASE_URL: url, CDN: "varnish", PUBLIC_URL: edgeUrl, VISIBLE: "all" };
  const replicas = await Promise.all(
    ports.map((port) => startService({ ...environment, SCHEDULER: "off", PORT: `${port}`, LOG_LEVEL: "warn" })),
  );
  // An object takes about 3 kB there.
  await startVarnish(ports, edgePort, 128 + Math.ceil(keys / 250));

  const counts = { reads: 0, hits: 0, failures: new Map<string, number>() };
  const read = async (key: number): Promise<number | undefined> => {
    try {
      const response = await fetch(`${edgeUrl}/api/v1/products/${idOf(key)}`, {
        signal: AbortSignal.timeout(15_000),
      });
      const text = await response.text();
      counts.reads++;
      // Varnish names the request that filled the cache, too, on a hit.
      if (response.headers.get("x-varnish")?.includes(" ")) counts.hits++;
      if (!response.ok) throw new Error(`status ${response.status}`);
      return Number(/"title":"v(\d+)"/.exec(text)?.[1]);
    } catch (error) {
      const reason = (error as Error).message;
      counts.failures.set(reason, (counts.failures.get(reason) ?? 0) + 1);
      return undefined;
    }
  };
  const versions = new Array<number>(keys).fill(0);
  /** @returns the new version */
  const change = async (key: number): Promise<number> => {
    const version = (versions[key] ?? 0) + 1;
    versions[key] = version;
    await changeProduct(sql, productOf(key, version));
    return version;
  };
  /** Whether everything was purged twice. */
  const isPurged = async () => {
    const [row] = await sql`SELECT state, (SELECT max(id) FROM change) AS newest FROM purge_target`;
    if (row === undefined) return false;
    const { second, marks, failure } = JSON.parse(row.state);
    return failure === undefined && second >= Number(row.newest) && marks.length === 0;
  };
  return { replicas, counts, read, versions, change, isPurged };
}

for (const engine of enginesOf("postgres")) {
  test.skipIf(varnishd === null)(`on ${engine}, what did not change stays at the edge of Varnish`, async () => {
    const { replicas, counts, read, versions, change, isPurged } = await startEdge(engine, manyKeys);
    // What the products themselves have changed.
    await until("everything is purged", isPurged);
    const readAll = async (keys: Iterator<number>) => {
      for (let next = keys.next(); !next.done; next = keys.next()) await read(next.value);
    };
    const allKeys = versions.keys();
    await Promise.all(Array.from({ length: 8 }, () => readAll(allKeys)));
    Object.assign(counts, { reads: 0, hits: 0 });
    const pick = createSequence("zipf", manyKeys, 1);
    let isOver = false;
    const readers = Array.from({ length: 4 }, async () => {
      while (!isOver) await read(pick());
    });
    const changed: number[] = [];
    while (changed.length < hitSeconds) {
      await Bun.sleep(1000);
      const key = pick();
      await change(key);
      changed.push(key);
    }
    isOver = true;
    await Promise.all(readers);
    process.stderr.write(
      `edge: ${manyKeys} keys, ${changed.length} changes, ${counts.reads} reads by Zipf, hit ratio ${hitRatio(counts)}\n`,
    );
    expect(counts.failures).toEqual(new Map());
    expect(counts.hits / counts.reads).toBeGreaterThan(0.99);
    for (const key of changed) await until("the edge has the change", async () => (await read(key)) === versions[key]);
    for (const replica of replicas) await replica.end("SIGTERM");
  });
}
