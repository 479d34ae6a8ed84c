import { Access } from "./access.ts";
import { BulkRuns } from "./bulk/runs.ts";
import { Catalog } from "./catalog/catalog.ts";
import { Counters, increase } from "./counters.ts";
import { Faults } from "./faults.ts";
import { Executor } from "./graphql/executor.ts";
import { FieldRules } from "./graphql/field-rules.ts";
import { createSchema } from "./graphql/schema.ts";
import { defaultScopes } from "./graphql/scopes.ts";
import { Lag } from "./lag.ts";
import { defaultApp, type StandInSettings } from "./options.ts";
import { Deliveries } from "./webhooks/deliveries.ts";
import { Subscriptions } from "./webhooks/subscriptions.ts";

export type Components = ReturnType<typeof createComponents>;

/**
 * The components of a running stand-in, for its endpoints.
 * @param origin of its URLs; a function because the port is known only once the server listens
 */
export function createComponents(settings: StandInSettings, origin: () => string) {
  const { seed, now } = settings;
  const counters = new Counters();
  const faults = new Faults(seed, (kind) => increase(counters.faults, kind));
  for (const fault of settings.faults) faults.add(fault);
  const schema = createSchema();
  const subscriptions = new Subscriptions();
  const secretOf = (name: string) =>
    settings.apps.find((app) => app.name === name)?.clientSecret ?? defaultApp.clientSecret;
  const { myshopifyDomain: shop } = settings.shop;
  const version = settings.versions.at(-1) ?? "";
  const deliveries = new Deliveries({ settings: settings.webhooks, subscriptions, shop, version, secretOf, seed });
  const catalog = new Catalog({
    ...settings,
    count: settings.products,
    endsAt: Date.parse("2026-11-20T00:00:00Z") / 1000,
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

/** Removes an app from the shop: its tokens and subscriptions end, and it is notified. */
export function uninstall(components: Components, appName: string | undefined): void {
  const { access, deliveries, subscriptions, settings } = components;
  const { name, options } = findApp(components, appName);
  deliveries.send("app/uninstalled", { myshopify_domain: settings.shop.myshopifyDomain });
  for (const { id } of subscriptions.list(name)) subscriptions.remove(name, id);
  access.revoke(options.token);
}

/** Returns the named app, or the first. */
export function findApp({ access }: Components, name: string | undefined) {
  const app = access.apps.find((candidate) => name === undefined || candidate.name === name);
  if (app === undefined) throw new Error(`there is no app "${name}"`);
  return app;
}

/**
 * State and counters.
 * @param allReads whether to list the number of reads of each product, instead of a total
 */
export function describe(components: Components, allReads: boolean) {
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
