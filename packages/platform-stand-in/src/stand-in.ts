import { Access, type App } from "./access.ts";
import { BulkRuns } from "./bulk/runs.ts";
import { Catalog } from "./catalog/catalog.ts";
import type { Components, StandIn } from "./components.ts";
import { Counters } from "./counters.ts";
import { Faults } from "./faults.ts";
import { Executor } from "./graphql/executor.ts";
import { FieldRules } from "./graphql/field-rules.ts";
import { createSchema } from "./graphql/schema.ts";
import { defaultScopes } from "./graphql/scopes.ts";
import { handleControl } from "./http/control.ts";
import { createRequestId } from "./http/responses.ts";
import { handleRequest } from "./http/router.ts";
import { Lag } from "./lag.ts";
import { defaultApp, type StandInOptions, type StandInSettings, withDefaults } from "./options.ts";
import { Deliveries } from "./webhooks/deliveries.ts";
import { Subscriptions } from "./webhooks/subscriptions.ts";

export type { ProductChanges } from "./catalog/changes.ts";
export type { StandIn } from "./components.ts";
export type { Fault } from "./faults.ts";
export type { StandInOptions } from "./options.ts";

export function startStandIn(options: StandInOptions = {}): StandIn {
  const settings = withDefaults(options);
  const components = createComponents(settings, () => origin);
  const server = Bun.serve({
    port: settings.port,
    hostname: settings.hostname,
    // A hanging response is a fault that tests ask for: the server must not end it.
    idleTimeout: 0,
    async fetch(request) {
      if (new URL(request.url).pathname === "/control") return handleControl(standIn, request);
      const requestId = createRequestId();
      const response = await handleRequest(components, request, requestId);
      response.headers.set("X-Request-Id", requestId);
      return response;
    },
  });
  const origin = `http://${settings.hostname}:${server.port}`;
  const standIn: StandIn = {
    ...components,
    origin,
    graphqlUrl: (version = settings.versions.at(-1) ?? "unstable") => `${origin}/admin/api/${version}/graphql.json`,
    accessTokenUrl: `${origin}/admin/oauth/access_token`,
    controlUrl: `${origin}/control`,
    findApp: (name) => findApp(components, name),
    describe: (allReads = false) => ({ origin, ...describe(components, allReads) }),
    uninstall: (name) => uninstall(components, findApp(components, name)),
    stop: async () => {
      components.deliveries.stop();
      await server.stop(true);
      await components.bulk.stop();
    },
  };
  return standIn;
}

function createComponents(settings: StandInSettings, origin: () => string): Components {
  const { seed, now } = settings;
  const counters = new Counters();
  const faults = new Faults(seed, (kind) => counters.countFault(kind));
  for (const fault of settings.faults) faults.add(fault);
  const schema = createSchema();
  const endsAt = Math.floor(Date.parse(settings.endsAt) / 1000);
  const subscriptions = new Subscriptions(now);
  const secretOf = (name: string) =>
    settings.apps.find((app) => app.name === name)?.clientSecret ?? defaultApp.clientSecret;
  const { myshopifyDomain: shop } = settings.shop;
  const version = settings.versions.at(-1) ?? "";
  const deliveries = new Deliveries({ settings: settings.webhooks, subscriptions, shop, version, secretOf, seed });
  const catalog = new Catalog({
    ...settings,
    count: settings.products,
    endsAt,
    onChange: (change, id, updatedAt) => deliveries.send(`products/${change}`, describeChange(id, updatedAt)),
  });
  const executor = new Executor(schema);
  const fields = new FieldRules(schema, () => executor.forgetDocuments());
  const lag = new Lag(settings.lag, seed, now);
  const bulk = new BulkRuns({ schema, fields, catalog, seed, settings: settings.bulk, lag, now, origin });
  const access = new Access({ ...settings, scopes: defaultScopes });
  return { settings, access, bulk, catalog, counters, deliveries, faults, executor, fields, lag, subscriptions };
}

/** The body of a webhook, with timestamps in the shop's zone. A deleted product has only its id. */
function describeChange(id: string, updatedAt: string) {
  if (updatedAt === "") return { id: BigInt(id) };
  const local = new Date(Date.parse(updatedAt) - 5 * 3_600_000).toISOString().slice(0, 19);
  return { id: BigInt(id), admin_graphql_api_id: `gid://shopify/Product/${id}`, updated_at: `${local}-05:00` };
}

function uninstall({ access, deliveries, subscriptions, settings }: Components, { name, options }: App): void {
  deliveries.send("app/uninstalled", { myshopify_domain: settings.shop.myshopifyDomain });
  for (const { id } of subscriptions.list(name)) subscriptions.remove(name, id);
  access.revoke(options.token);
}

function findApp({ access }: Components, name: string | undefined): App {
  const app = access.apps.find((candidate) => name === undefined || candidate.name === name);
  if (app === undefined) throw new Error(`there is no app "${name}"`);
  return app;
}

function describe(components: Components, allReads: boolean) {
  const { settings, access, bulk, catalog, counters, deliveries, faults, subscriptions } = components;
  const { productReads, ...counts } = counters.toJSON();
  const reads = Object.values(productReads);
  const summary = { products: reads.length, reads: reads.reduce((sum, count) => sum + count, 0) };
  return {
    shop: settings.shop,
    versions: settings.versions,
    products: catalog.count,
    specials: Object.fromEntries(settings.specials.map((name) => [name, catalog.idOfSpecial(name)])),
    apps: access.apps.map(({ name, scopes, bucket }) => ({ name, scopes: [...scopes], throttleStatus: bucket.status })),
    faults: faults.pending,
    bulk: bulk.settings,
    bulkRuns: bulk.list().map(({ id, status, objectCount, url }) => ({ id, status, objectCount, url })),
    subscriptions: subscriptions.list().map(({ topic, uri }) => ({ topic, uri })),
    webhooks: deliveries.counts,
    counters: { ...counts, productReads: allReads ? productReads : summary },
  };
}
