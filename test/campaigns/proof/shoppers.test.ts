import { expect, test } from "bun:test";
import { Shoppers } from "../../proof/shoppers.ts";
import { StoreHistory } from "../../proof/store-history.ts";
import { itemOf, personalization } from "../../proof/store-watcher.ts";
import { startServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const [id, sku] = ["7", "SKU1"];
const toProduct = (title: string, vendor = title) =>
  `{"product":{"id":7,"price":"9.95","title":"${title}","vendor":"${vendor}"},"shop":"a","error":null}`;
const toPersonalization = (version: string) =>
  `{"pzlines":[{"sku_id":"SKU1"}],"pzstyles":[],"pzchoices":[{"choice_value":"Red ${version}"}]}`;
const histories = '{"histories":[{"brand":"acme","counts":1,"created_at":"2026-11-23T10:00:00Z"}]}';

interface Answers {
  readonly product?: string;
  readonly personalization?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Which problems shoppers report at a service with such responses. The store has had `v2` for ten seconds. */
async function findProblems({ product, personalization: feed, status = 200, headers }: Answers): Promise<string[]> {
  const history = new StoreHistory();
  for (const item of [itemOf(id), personalization]) {
    history.note(item, "v1", 0);
    history.note(item, "v2", performance.now() - 10_000);
  }
  const origin = startServer(({ url }) => {
    const text = url.endsWith(sku)
      ? (feed ?? toPersonalization("v2"))
      : url.endsWith(id)
        ? (product ?? toProduct("v2"))
        : histories;
    return new Response(text, { status, ...(headers && { headers }) });
  });
  const places = [origin];
  const shoppers = new Shoppers({
    ...{ edges: places, origins: places, skus: [sku], history, rate: 1000 },
    products: new Map([[id, toProduct("Plate")]]),
    responseOf: (_, version) => toPersonalization(version),
  });
  await until("each operation was requested", () => shoppers.requests >= 100);
  await shoppers.stop();
  history.settleDoubts();
  const { failures, refused, old, mixed, incorrect } = shoppers;
  const found = Object.entries({ failures, refused, old, mixed, incorrect });
  return found.filter(([, problems]) => problems.length > 0).map(([name]) => name);
}

test.each<[string, Answers, string[]]>([
  ["right responses", {}, []],
  ["an old product", { product: toProduct("v1") }, ["old"]],
  ["an old feed", { personalization: toPersonalization("v1") }, ["old"]],
  ["an old product with its age", { product: toProduct("v1"), headers: { Age: "10" } }, []],
  ["an old product with a lower age", { product: toProduct("v1"), headers: { Age: "5" } }, ["old"]],
  ["two versions in a product", { product: toProduct("v2", "v1") }, ["mixed"]],
  ["no product", { product: '{"product":null,"shop":"a","error":null}' }, ["incorrect"]],
  ["another product", { product: toProduct("v2").replace("7", "8") }, ["incorrect"]],
  ["a product that lost a field", { product: toProduct("v2").replace('"price":"9.95",', "") }, ["incorrect"]],
  ["a SKU without a row", { personalization: '{"pzlines":[],"pzstyles":[],"pzchoices":[]}' }, ["incorrect"]],
  ["status 500", { status: 500 }, ["failures", "incorrect"]],
  ["status 404", { status: 404 }, ["failures", "incorrect"]],
  ["status 503", { status: 503 }, ["failures"]],
  ["status 503 with Retry-After", { status: 503, headers: { "Retry-After": "1" } }, ["refused"]],
])("shoppers see %s", async (_, answers, problems) => {
  expect(await findProblems(answers)).toEqual(problems);
});
