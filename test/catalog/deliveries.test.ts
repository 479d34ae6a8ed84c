import { describe, expect, test } from "bun:test";
import { findFreePort } from "../support/free-port.ts";
import { type LoadRequest, runLoad } from "../support/load.ts";
import {
  connectTo,
  createMigratedStore,
  createStore,
  type Environment,
  enginesOf,
  isCampaign,
  serve,
} from "../support/pds.ts";
import { environmentOf, readAnswers, startPlatform } from "../support/platform.ts";
import { startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";
import { headersOf, path, secret, sign, webhookEnvironment } from "../support/webhooks.ts";

/** Deliveries in all, per second, and kills in that time; a full campaign sets more. */
const deliveries = Number(process.env.DELIVERIES ?? 1000);
const rate = 1000;
const kills = Number(process.env.DELIVERY_KILLS ?? 2);
const products = Math.ceil(deliveries / 5);
const connections = 64;

type Kind = "valid" | "forged" | "oversized";

interface PlannedDelivery extends LoadRequest {
  readonly kind: Kind;
  readonly product: number;
}

const statusOf: Readonly<Record<Kind, number>> = { valid: 200, forged: 401, oversized: 413 };

/** 10 % duplicates, 10 % late, 5 % forged, 1 % oversized; the rest is of random products, in order. */
function planDeliveries(count: number): PlannedDelivery[] {
  let state = 1;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const planned: PlannedDelivery[] = [];
  for (let number = 0; planned.length < count; number++) {
    const dice = random();
    const product = 1 + Math.floor(random() * products);
    const second = new Date(Date.parse("2026-11-20T10:00:00Z") + Math.floor(number / rate) * 1000).toISOString();
    const kind = dice < 0.05 ? "forged" : dice < 0.06 ? "oversized" : "valid";
    const body = `{"id":${product},"updated_at":"${second}"}`.padEnd(kind === "oversized" ? 20_000 : 0);
    const signature = sign(body, kind === "forged" ? "another secret" : secret);
    const headers = headersOf({ body, headers: { "X-Shopify-Hmac-Sha256": signature } });
    const delivery = { path, body, headers, kind, product } as const;
    planned.push(delivery);
    if (dice > 0.9) planned.push(delivery);
    // Sent after the ones that follow it.
    else if (dice > 0.8 && planned.length > 20) planned.splice(planned.length - 20, 0, planned.pop() ?? delivery);
  }
  return planned.slice(0, count);
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}

/** What was confirmed, by product, and how long it took. */
interface Confirmed {
  readonly byProduct: Map<number, number>;
  readonly tookMs: number[];
  /** How many deliveries were sent again. */
  resent: number;
}

/** Sends deliveries as the platform does: one that is not answered in time is sent again. */
async function sendAll(planned: readonly PlannedDelivery[], url: string): Promise<Confirmed> {
  const confirmed: Confirmed = { byProduct: new Map(), tookMs: [], resent: 0 };
  const results = new Map<Kind, Set<number>>();
  let left = [...planned];
  const sendLeft = async () => {
    const answered = new Set<PlannedDelivery>();
    await runLoad({
      url,
      paths: (number) => left[number] ?? "/",
      requests: left.length,
      connections,
      rate,
      check: (request, { status }, _, tookMs) => {
        const delivery = request as PlannedDelivery;
        if (status === 503) return undefined;
        answered.add(delivery);
        results.set(delivery.kind, (results.get(delivery.kind) ?? new Set()).add(status));
        confirmed.tookMs.push(tookMs);
        if (status !== 200) return undefined;
        confirmed.byProduct.set(delivery.product, (confirmed.byProduct.get(delivery.product) ?? 0) + 1);
        return undefined;
      },
    });
    // A duplicate is the same object, which is sent again until it is answered once.
    left = left.filter((delivery) => !answered.has(delivery));
    confirmed.resent += left.length;
    return left.length === 0;
  };
  if (!(await sendLeft())) await until("every delivery is answered", sendLeft);
  for (const [kind, statuses] of results) expect([kind, [...statuses]]).toEqual([kind, [statusOf[kind]]]);
  return confirmed;
}

async function listQueued(store: string): Promise<Map<number, number>> {
  await using sql = await connectTo(store);
  const rows = await sql<{ product: string; deliveries: number }[]>`
    SELECT CAST(product AS TEXT) AS product, deliveries FROM push_queue`;
  return new Map(rows.map(({ product, deliveries: count }) => [Number(product), count]));
}

/** Products that have fewer deliveries in the queue than were confirmed. */
const findLost = ({ byProduct }: Confirmed, queued: ReadonlyMap<number, number>) =>
  [...byProduct].filter(([product, count]) => (queued.get(product) ?? 0) < count);

const statuses = [200, 401, 413, 503];
const planned = planDeliveries(deliveries).map((delivery) => ({ ...delivery, statuses }));

/** Nothing answers there, so that nothing leaves the queue. */
const withoutPlatform = { ...webhookEnvironment({ origin: "http://127.0.0.1:9" }), LOG_LEVEL: "silent" };

describe.each([...enginesOf("postgres")])("on %s", (engine) => {
  test(`of ${deliveries} deliveries at ${rate} per second, every forged one is refused and none is lost`, async () => {
    const store = await createStore(engine);
    // The rate limit does not apply to the platform.
    await using service = await serve({ ...withoutPlatform, DATABASE_URL: store, RATE_LIMIT: "1" });
    const confirmed = await sendAll(planned, service.url);
    const queued = await listQueued(store);
    expect(findLost(confirmed, queued)).toEqual([]);
    const sum = [...queued.values()].reduce((total, count) => total + count, 0);
    const valid = planned.filter(({ kind }) => kind === "valid").length;
    expect(sum).toBeGreaterThanOrEqual(valid);
    // One that was not answered in time may have been queued.
    expect(sum).toBeLessThanOrEqual(valid + confirmed.resent);
    const p99 = percentile(confirmed.tookMs, 0.99);
    process.stderr.write(`${engine}: ${deliveries} deliveries, p99 ${p99.toFixed(1)} ms\n`);
    if (isCampaign) expect(p99).toBeLessThan(500);
  });

  test(`no confirmed delivery is lost over ${kills} kills`, async () => {
    const store = await createStore(engine);
    const environment: Environment = { ...withoutPlatform, DATABASE_URL: store, PORT: `${await findFreePort()}` };
    let service = await startService(environment);
    const sending = sendAll(planned, service.url);
    const pauseMs = ((deliveries / rate) * 1000) / (kills + 1);
    for (let kill = 0; kill < kills; kill++) {
      await Bun.sleep(pauseMs);
      await service.end("SIGKILL");
      service = await startService(environment);
    }
    const confirmed = await sending;
    expect(findLost(confirmed, await listQueued(store))).toEqual([]);
    await service.end("SIGTERM");
  });

  test("while the platform delivers edits twice and in any order, kills lose none", async () => {
    const platform = startPlatform({
      products: 30,
      now: Date.now,
      webhooks: { speedUp: 500, delayMs: [0, 500], duplicates: 0.3 },
    });
    const store = await createMigratedStore(engine);
    await using sql = await connectTo(store);
    const environment: Environment = {
      ...webhookEnvironment(platform),
      ...environmentOf(platform),
      DATABASE_URL: store,
      LOOKUPS_PER_MINUTE: "0",
      PORT: `${await findFreePort()}`,
    };
    let service = await startService(environment);
    for (const topic of ["PRODUCTS_CREATE", "PRODUCTS_UPDATE", "PRODUCTS_DELETE"]) {
      platform.subscriptions.create("default", topic, {
        uri: `${service.url}${path}`,
        includeFields: ["id", "updated_at"],
      });
    }
    const ids = platform.catalog.ids(0, 30);
    for (let edit = 0; edit < 90; edit++) {
      platform.catalog.touch(ids[edit % ids.length] ?? "", { product: { title: `Edit ${edit}` } });
      if (edit % 30 === 15) {
        await service.end("SIGKILL");
        // The next service need not wait until the lease of the killed one expires.
        if (!isCampaign) await sql`DELETE FROM lease`;
        service = await startService(environment);
      }
      await Bun.sleep(20);
    }
    const expected = await readAnswers(platform, ids);
    const areRight = async () => {
      const answers = await Promise.all(ids.map((id) => fetch(`${service.url}/api/v1/products/${id}`)));
      const texts = await Promise.all(answers.map((answer) => answer.text()));
      return ids.every((id, index) => answers[index]?.status === 200 && texts[index] === expected.get(id));
    };
    await until("every product is right", areRight);
    await service.end("SIGTERM");
  });
});

test.if(isCampaign)("product reads stay fast under deliveries", async () => {
  const platform = startPlatform({ products: 200 });
  const store = await createStore("postgres");
  await using service = await serve({ ...webhookEnvironment(platform), DATABASE_URL: store });
  const ids = platform.catalog.ids(0, 200);
  const paths = ids.map((id) => `/api/v1/products/${id}`);
  const readP99 = async () => {
    const tookMs: number[] = [];
    const check = (_: LoadRequest, _answer: unknown, _url: string, ms: number) => void tookMs.push(ms) as undefined;
    await runLoad({ url: service.url, paths, connections: 8, rate: 500, seconds: 5, check });
    return percentile(tookMs, 0.99);
  };
  await readP99();
  const [alone, under]: [number[], number[]] = [[], []];
  for (let round = 0; round < 5; round++) {
    alone.push(await readP99());
    const controller = new AbortController();
    const load = runLoad({
      url: service.url,
      paths: planned.filter(({ kind }) => kind !== "oversized"),
      connections,
      rate,
      signal: controller.signal,
    });
    under.push(await readP99());
    controller.abort();
    await load;
  }
  const [without, withDeliveries] = [percentile(alone, 0.5), percentile(under, 0.5)];
  process.stderr.write(
    `p99 of product reads: ${without.toFixed(2)} ms, under deliveries ${withDeliveries.toFixed(2)} ms\n`,
  );
  expect(withDeliveries).toBeLessThan(1.5 * without);
});
